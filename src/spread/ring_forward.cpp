// Attention around a ring: what each block of keys gives is merged into what the blocks before it gave.
#include <optional>

#include "spread/circle.h"
#include "spread/ways.h"

namespace attend::spread {
namespace {

RowStateView state_of(RowStateView state, const QueryBlock& block) {
  return {block.of(state.max), block.of(state.sum)};
}

// What this process's queries have gathered so far.
class Gathering {
 public:
  explicit Gathering(const Call& call)
      : call_(call),
        out_(call.computes_in(), {call.batch(), call.query_heads(), call.q.size(2), call.v.size(3)}),
        part_(out_.dtype(), out_.shape()),
        state_(call.q),
        part_state_(call.q) {}

  void add(int source, ConstTensorView k, ConstTensorView v) {
    for (const QueryBlock& keys : Call::blocks_of(call_.keys, source)) {
      const std::array<QueryBlock, 2> blocks = call_.own_queries();
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        // Each query begins with a block, seen or not: it leaves the state of a row without keys, or of the
        // sink.
        const bool first = !begun_[i];
        if (!first && !call_.meet(blocks[i], keys.chunk)) continue;
        begun_[i] = true;
        const TensorView out = blocks[i].of(first ? out_.view() : part_.view());
        const RowStateView state = state_of(first ? state_ : part_state_, blocks[i]);
        attention(blocks[i].of(call_.q), keys.of(k), keys.of(v),
                  call_.options_of(blocks[i], keys.chunk, first), out, state);
        if (first) continue;
        const TensorView all = blocks[i].of(out_.view());
        const RowStateView all_state = state_of(state_, blocks[i]);
        merge_attention(all, {all_state.max, all_state.sum}, out, {state.max, state.sum}, all, all_state);
      }
    }
  }

  void deliver(TensorView out, RowStateView row_state) const {
    copy(out_, out);
    if (!row_state.max.given()) return;
    copy(state_.max, row_state.max);
    copy(state_.sum, row_state.sum);
  }

 private:
  const Call& call_;
  Tensor out_, part_;
  RowState state_, part_state_;
  std::array<bool, 2> begun_{};
};

}  // namespace

void ring_forward(const Call& call, TensorView out, RowStateView row_state) {
  Gathering gathering(call);
  Circle circle(call, {call.k, call.v});
  circle.run([&](int source, const std::vector<ConstTensorView>& block) {
    gathering.add(source, block[0], block[1]);
  });
  gathering.deliver(out, row_state);
}

}  // namespace attend::spread
