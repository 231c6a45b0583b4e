// Weights on demand around a ring. With the row state of all keys the weights of a block are shares of the
// whole: what a key receives goes around with its block, and the top keys of each row are kept from those of
// the blocks.
#include <algorithm>
#include <vector>

#include "spread/circle.h"
#include "spread/ways.h"

namespace attend::spread {
namespace {

template <class T>
struct TopKey {
  T weight;
  std::int64_t key;
};

template <class T>
bool comes_before(const TopKey<T>& a, const TopKey<T>& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.key < b.key;
}

// The top keys of a row so far and those of one more block, whose key 0 is the sequence's key `first`.
template <class T>
void merge_top(std::int64_t count, std::int64_t first, const std::int64_t* keys, const T* weights,
               std::int64_t* all_keys, T* all_weights, std::vector<TopKey<T>>& room) {
  room.clear();
  const auto take = [&](const std::int64_t* from, const T* of, std::int64_t plus) {
    for (std::int64_t i = 0; i < count && from[i] >= 0; ++i) room.push_back({of[i], from[i] + plus});
  };
  if (count > 0 && (std::isnan(weights[0]) || std::isnan(all_weights[0]))) {  // a row without an order
    std::fill_n(all_keys, count, -1);
    std::fill_n(all_weights, count, std::numeric_limits<T>::quiet_NaN());
    return;
  }
  take(all_keys, all_weights, 0);
  take(keys, weights, first);
  const auto kept = std::min(count, static_cast<std::int64_t>(room.size()));
  std::partial_sort(room.begin(), room.begin() + kept, room.end(), comes_before<T>);
  for (std::int64_t i = 0; i < kept; ++i) {
    all_keys[i] = room[static_cast<std::size_t>(i)].key;
    all_weights[i] = room[static_cast<std::size_t>(i)].weight;
  }
}

template <class T>
class RingWeights {
 public:
  RingWeights(const Call& call, const WeightsRequest& request, ConstRowStateView row_state,
              WeightsSummary& summary)
      : call_(call),
        request_(request),
        state_(row_state),
        summary_(summary),
        received_(call, call.query_heads(), {1}) {
    if (request.top_k > 0) std::ranges::fill(summary.top_keys.values<std::int64_t>(), -1);
    if (request.entropy) entropy_ = Tensor(DType::f64, summary.entropy.shape());
  }

  void add(int step, int source, ConstTensorView k) {
    Tensor received(DType::f64, {call_.batch(), call_.query_heads(), k.size(2), 1});
    for (const QueryBlock& keys : Call::blocks_of(call_.keys, source)) {
      for (const QueryBlock& block : call_.own_queries()) {
        if (!call_.meet(block, keys.chunk)) continue;
        const WeightsSummary part =
            summarize_weights(block.of(call_.q), keys.of(k), call_.options_of(block, keys.chunk, false),
                              request_, {block.of(state_.max), block.of(state_.sum)});
        if (request_.top_k > 0) add_top(block, keys.chunk.first, part);
        if (request_.entropy) {
          const Tensor wide = copy_of(part.entropy, DType::f64);
          add_rows<double>(wide.view().with_axis(3), block.of(entropy_.view()).with_axis(3));
        }
        if (request_.received) {
          const Tensor wide = copy_of(part.received, DType::f64);
          add_rows<double>(wide.view().with_axis(3), keys.of(received.view()));
        }
      }
    }
    if (request_.received) received_.add(step, {received.view()});
  }

  void deliver() {
    if (request_.entropy) copy(entropy_, summary_.entropy);
    if (request_.received) copy(received_.home()[0].select(3, 0), summary_.received);
  }

 private:
  void add_top(const QueryBlock& block, std::int64_t first_key, const WeightsSummary& part) {
    const std::int64_t count = request_.top_k;
    const TensorView keys = block.of(summary_.top_keys.view()),
                     weights = block.of(summary_.top_weights.view());
    std::vector<TopKey<T>> room;
    std::int64_t at = 0;
    for (std::int64_t b = 0; b < keys.size(0); ++b) {
      for (std::int64_t h = 0; h < keys.size(1); ++h) {
        for (std::int64_t i = 0; i < keys.size(2); ++i, at += count) {
          const std::int64_t to = b * keys.stride(0) + h * keys.stride(1) + i * keys.stride(2);
          merge_top(count, first_key, part.top_keys.values<std::int64_t>().data() + at,
                    part.top_weights.values<T>().data() + at, keys.data<std::int64_t>() + to,
                    weights.data<T>() + to, room);
        }
      }
    }
  }

  const Call& call_;
  const WeightsRequest& request_;
  ConstRowStateView state_;
  WeightsSummary& summary_;
  SumsAround<double> received_;
  Tensor entropy_;
};

template <class T>
void run_ring_weights(const Call& call, const WeightsRequest& request, ConstRowStateView row_state,
                      WeightsSummary& summary) {
  RingWeights<T> weights(call, request, row_state, summary);
  Circle circle(call, {call.k});
  int step = 0;
  circle.run(
      [&](int source, const std::vector<ConstTensorView>& block) { weights.add(step++, source, block[0]); });
  weights.deliver();
}

}  // namespace

void ring_weights(const Call& call, const WeightsRequest& request, ConstRowStateView row_state,
                  WeightsSummary& summary) {
  call.computes_in() == DType::f64 ? run_ring_weights<double>(call, request, row_state, summary)
                                   : run_ring_weights<float>(call, request, row_state, summary);
}

}  // namespace attend::spread
