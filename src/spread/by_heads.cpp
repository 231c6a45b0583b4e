// Every process gets the whole sequence of some heads, and computes with them what one process would:
// whatever is added up within a head is added in the same order.
#include "base/error.h"
#include "spread/parcel.h"
#include "spread/sums.h"
#include "spread/ways.h"

namespace attend::spread {
namespace {

// The key heads of each process, and the query heads that share them.
class HeadCut {
 public:
  explicit HeadCut(const Call& call)
      : processes_(call.processes.count()),
        key_heads_(call.key_heads()),
        group_(key_heads_ == 0 ? 0 : call.query_heads() / key_heads_) {}

  // Of a tensor that has key heads, or query heads.
  enum class Of : bool { keys, queries };
  RowChunk heads(int process, Of of) const {
    const std::int64_t each = of == Of::keys ? 1 : group_;
    return {each * (key_heads_ * process / processes_), each * (key_heads_ * (process + 1) / processes_)};
  }

 private:
  int processes_;
  std::int64_t key_heads_, group_;
};

// A tensor (B, heads, own rows, size), and what its heads and rows are.
struct Part {
  ConstTensorView view{};
  HeadCut::Of heads = HeadCut::Of::queries;
  bool of_keys() const { return heads == HeadCut::Of::keys; }
};
struct ResultPart {
  const Tensor* all = nullptr;  // (B, this process's heads, all rows, size)
  TensorView own{};             // (B, heads, own rows, size)
  HeadCut::Of heads = HeadCut::Of::queries;
  bool rows_of_keys = false;
};

class Exchange {
 public:
  explicit Exchange(const Call& call) : call_(call), cut_(call) {}

  const HeadCut& cut() const { return cut_; }
  RowChunk own_heads(HeadCut::Of of) const { return cut_.heads(call_.processes.rank(), of); }

  // Sends every process the rows of its heads; returns all rows of this one's, in the order of the sequence.
  std::vector<Tensor> to_heads(const std::vector<Part>& parts) {
    const int rank = call_.processes.rank();
    for (int process = 0; process < call_.processes.count(); ++process) {
      for (const Part& part : parts) {
        const RowChunk theirs = cut_.heads(process, part.heads);
        const std::int64_t rows = part.view.size(2);
        const TensorView packed = room(part.view.dtype(), theirs.rows(), rows, part.view.size(3));
        copy(part.view.slice(1, theirs.first, theirs.last), packed);
        send(process, packed);
      }
    }
    std::vector<std::vector<TensorView>> received(parts.size());
    for (int process = 0; process < call_.processes.count(); ++process) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::int64_t rows = rows_cut(parts[i].of_keys()).rows_of(process);
        received[i].push_back(process == rank
                                  ? own_[i]
                                  : receive(process, parts[i].view.dtype(), own_heads(parts[i].heads).rows(),
                                            rows, parts[i].view.size(3)));
      }
    }
    carry_out();
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const ZigzagCut& cut = rows_cut(parts[i].of_keys());
      all.emplace_back(parts[i].view.dtype(), Dims{call_.batch(), own_heads(parts[i].heads).rows(),
                                                   cut.rows(), parts[i].view.size(3)});
      for (int process = 0; process < call_.processes.count(); ++process) {
        for (const QueryBlock& block : Call::blocks_of(cut, process))
          copy(block.of(received[i][static_cast<std::size_t>(process)]),
               all.back().view().slice(2, block.chunk.first, block.chunk.last));
      }
    }
    return all;
  }

  // The way back: every process gets its rows of all heads.
  void from_heads(const std::vector<ResultPart>& parts) {
    const int rank = call_.processes.rank();
    for (int process = 0; process < call_.processes.count(); ++process) {
      for (const ResultPart& part : parts) {
        const ZigzagCut& cut = rows_cut(part.rows_of_keys);
        const TensorView packed =
            room(part.all->dtype(), part.all->size(1), cut.rows_of(process), part.all->size(3));
        for (const QueryBlock& block : Call::blocks_of(cut, process))
          copy(part.all->view().slice(2, block.chunk.first, block.chunk.last), block.of(packed));
        send(process, packed);
      }
    }
    std::vector<std::vector<TensorView>> received(parts.size());
    for (int process = 0; process < call_.processes.count(); ++process) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        received[i].push_back(process == rank ? own_[i]
                                              : receive(process, parts[i].all->dtype(),
                                                        cut_.heads(process, parts[i].heads).rows(),
                                                        parts[i].own.size(2), parts[i].all->size(3)));
      }
    }
    carry_out();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (int process = 0; process < call_.processes.count(); ++process) {
        const RowChunk heads = cut_.heads(process, parts[i].heads);
        copy(received[i][static_cast<std::size_t>(process)], parts[i].own.slice(1, heads.first, heads.last));
      }
    }
  }

 private:
  const ZigzagCut& rows_cut(bool of_keys) const { return of_keys ? call_.keys : call_.queries; }

  TensorView room(DType dtype, std::int64_t heads, std::int64_t rows, std::int64_t size) {
    return memory_.emplace_back(dtype, call_.batch(), heads, rows, size).view(rows);
  }
  void send(int process, TensorView packed) {
    if (process == call_.processes.rank()) {
      own_.push_back(packed);
    } else {
      outgoing_.push_back({process, bytes_of(packed)});
    }
  }
  TensorView receive(int process, DType dtype, std::int64_t heads, std::int64_t rows, std::int64_t size) {
    const TensorView packed = room(dtype, heads, rows, size);
    incoming_.push_back({process, bytes_of(packed)});
    return packed;
  }
  // What was received lives until the next exchange.
  void carry_out() {
    kept_ = std::exchange(memory_, {});
    call_.processes.start(outgoing_, incoming_, memory_of(kept_))->wait();
    outgoing_.clear();
    incoming_.clear();
    own_.clear();
  }

  const Call& call_;
  HeadCut cut_;
  std::vector<Parcel> memory_, kept_;
  std::vector<TensorView> own_;  // what this process would send to itself
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
};

constexpr auto kKeyHeads = HeadCut::Of::keys, kQueryHeads = HeadCut::Of::queries;

std::vector<double> some_of(const std::vector<double>& per_head, RowChunk heads) {
  if (per_head.empty()) return {};
  return {per_head.begin() + heads.first, per_head.begin() + heads.last};
}

// The options of this process's query heads, for all queries and keys.
AttentionOptions options_of_heads(const Call& call, RowChunk heads) {
  AttentionOptions options = call.options;
  const auto of_heads = [&](const char* name, ConstTensorView view) {
    const int rank = view.rank();
    if (!view.given()) return view;
    if (rank >= 2 && view.size(rank - 2) != 1)
      refuse(call.operation, name,
             " has rows of its own for each query: by heads it would have to be sent too");
    return rank >= 3 && view.size(rank - 3) != 1 ? view.slice(rank - 3, heads.first, heads.last) : view;
  };
  options.mask = of_heads("mask", call.options.mask);
  options.bias = of_heads("bias", call.options.bias);
  options.alibi_slopes = some_of(call.options.alibi_slopes, heads);
  options.sinks = some_of(call.options.sinks, heads);
  return options;
}

TensorView without_size(TensorView view) { return view.select(3, 0); }

// (B, heads, rows) as (B, heads, rows, 1).
template <class View>
View with_size(View view) {
  return view.with_axis(3);
}

}  // namespace

void heads_forward(const Call& call, TensorView out, RowStateView row_state) {
  Exchange exchange(call);
  const AttentionOptions options = options_of_heads(call, exchange.own_heads(kQueryHeads));
  const std::vector<Tensor> whole =
      exchange.to_heads({{call.q, kQueryHeads}, {call.k, kKeyHeads}, {call.v, kKeyHeads}});
  Dims shape = whole[0].shape();
  shape[3] = call.v.size(3);
  Tensor all_out(out.dtype(), shape);
  shape[3] = 1;
  Tensor max(call.computes_in(), shape), sum(call.computes_in(), shape);
  if (shape[1] > 0)
    attention(whole[0], whole[1], whole[2], options, all_out, {without_size(max), without_size(sum)});
  std::vector<ResultPart> results{{&all_out, out, kQueryHeads}};
  if (row_state.max.given()) {
    results.push_back({&max, with_size(row_state.max), kQueryHeads});
    results.push_back({&sum, with_size(row_state.sum), kQueryHeads});
  }
  exchange.from_heads(results);
}

void heads_backward(const Call& call, ConstTensorView out, ConstRowStateView row_state, ConstTensorView d_out,
                    const AttentionGradients& gradients) {
  Exchange exchange(call);
  const RowChunk heads = exchange.own_heads(kQueryHeads);
  const AttentionOptions options = options_of_heads(call, heads);
  const std::vector<Tensor> whole = exchange.to_heads({{call.q, kQueryHeads},
                                                       {call.k, kKeyHeads},
                                                       {call.v, kKeyHeads},
                                                       {out, kQueryHeads},
                                                       {d_out, kQueryHeads},
                                                       {with_size(row_state.max), kQueryHeads},
                                                       {with_size(row_state.sum), kQueryHeads}});
  const ConstTensorView max = whole[5].view(), sum = whole[6].view();
  std::vector<Tensor> made(3);
  AttentionGradients all;
  std::vector<ResultPart> results;
  const auto want = [&](std::size_t i, TensorView wanted, TensorView& target, HeadCut::Of of) {
    if (!wanted.given()) return;
    made[i] = Tensor(wanted.dtype(), whole[i].shape());
    target = made[i];
    results.push_back({&made[i], wanted, of, of == kKeyHeads});
  };
  want(0, gradients.q, all.q, kQueryHeads);
  want(1, gradients.k, all.k, kKeyHeads);
  want(2, gradients.v, all.v, kKeyHeads);
  const auto per_head = [&](TensorView wanted) {
    return std::vector<double>(wanted.given() ? static_cast<std::size_t>(call.query_heads()) : 0);
  };
  std::vector<double> slopes = per_head(gradients.alibi_slopes), sinks = per_head(gradients.sinks);
  const auto own = [&](std::vector<double>& numbers) {
    return numbers.empty() ? TensorView() : TensorView(numbers.data() + heads.first, Dims{heads.rows()});
  };
  all.alibi_slopes = own(slopes);
  all.sinks = own(sinks);
  if (heads.rows() > 0)
    attention_backward(whole[0], whole[1], whole[2], options, whole[3], {max.select(3, 0), sum.select(3, 0)},
                       whole[4], all);
  exchange.from_heads(results);
  // Each head's is one process's, and 0 on the others.
  const auto deliver = [&](std::vector<double>& numbers, TensorView to) {
    if (!to.given()) return;
    add_over_processes(call.processes, numbers);
    copy(ConstTensorView(numbers.data(), Dims{call.query_heads()}), to);
  };
  deliver(slopes, gradients.alibi_slopes);
  deliver(sinks, gradients.sinks);
}

void heads_weights(const Call& call, const WeightsRequest& request, ConstRowStateView row_state,
                   WeightsSummary& summary) {
  Exchange exchange(call);
  const AttentionOptions options = options_of_heads(call, exchange.own_heads(kQueryHeads));
  const std::vector<Tensor> whole = exchange.to_heads({{call.q, kQueryHeads},
                                                       {call.k, kKeyHeads},
                                                       {with_size(row_state.max), kQueryHeads},
                                                       {with_size(row_state.sum), kQueryHeads}});
  const ConstTensorView max = whole[2].view(), sum = whole[3].view();
  // Also without heads of its own: what is asked for then has shapes, and no elements.
  WeightsSummary all =
      summarize_weights(whole[0], whole[1], options, request, {max.select(3, 0), sum.select(3, 0)});
  std::vector<Tensor> sized;  // results without a last axis, with one of size 1
  sized.reserve(2);
  std::vector<ResultPart> results;
  if (request.top_k > 0) {
    results.push_back({&all.top_keys, summary.top_keys, kQueryHeads});
    results.push_back({&all.top_weights, summary.top_weights, kQueryHeads});
  }
  if (request.entropy) {
    sized.push_back(copy_of(with_size(all.entropy.view())));
    results.push_back({&sized.back(), with_size(summary.entropy.view()), kQueryHeads});
  }
  if (request.received) {
    sized.push_back(copy_of(with_size(all.received.view())));
    results.push_back({&sized.back(), with_size(summary.received.view()), kQueryHeads, true});
  }
  exchange.from_heads(results);
}

}  // namespace attend::spread
