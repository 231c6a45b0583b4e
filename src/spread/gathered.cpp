// With all keys in the order of the sequence a row is what it is in one process.
#include "attention/host_operations.h"
#include "attention/on_demand.h"
#include "spread/gather.h"
#include "spread/parcel.h"
#include "spread/ways.h"

namespace attend::spread {
namespace {

void place_rows(const ZigzagCut& cut, int process, ConstTensorView rows, TensorView all) {
  for (const QueryBlock& block : Call::blocks_of(cut, process))
    copy(block.of(rows), all.slice(2, block.chunk.first, block.chunk.last));
}

}  // namespace

std::vector<Tensor> gather(Processes& processes, const ZigzagCut& cut,
                           const std::vector<ConstTensorView>& own, int only) {
  const int rank = processes.rank();
  const bool receives = only < 0 || only == rank;
  std::vector<std::vector<Parcel>> parcels(static_cast<std::size_t>(processes.count()));
  std::vector<Parcel> everything;
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (int process = 0; process < processes.count(); ++process) {
    if (process != rank && !receives) continue;
    for (const ConstTensorView& view : own) {
      const std::int64_t rows = cut.rows_of(process);
      everything.emplace_back(view.dtype(), view.size(0), view.size(1), rows, view.size(3));
      const Parcel& parcel = parcels[static_cast<std::size_t>(process)].emplace_back(everything.back());
      if (process == rank) copy(view, parcel.view(rows));
      if (process != rank) incoming.push_back({process, parcel.bytes(rows)});
    }
  }
  for (int process = 0; process < processes.count(); ++process) {
    if (process == rank || (only >= 0 && process != only)) continue;
    for (const Parcel& parcel : parcels[static_cast<std::size_t>(rank)])
      outgoing.push_back({process, parcel.bytes(cut.rows_of(rank))});
  }
  processes.start(outgoing, incoming, memory_of(everything))->wait();

  std::vector<Tensor> all;
  for (std::size_t i = 0; i < own.size() && receives; ++i) {
    all.emplace_back(own[i].dtype(), Dims{own[i].size(0), own[i].size(1), cut.rows(), own[i].size(3)});
    for (int process = 0; process < processes.count(); ++process)
      place_rows(cut, process, parcels[static_cast<std::size_t>(process)][i].view(cut.rows_of(process)),
                 all.back());
  }
  return all;
}

namespace {

// The kernel follows from the number of queries: from that of the sequence, not of these few.
detail::Layout layout_of(const Call& call, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                         const AttentionOptions& options) {
  detail::Layout layout = detail::check_attention(call.operation, q, k, v, options);
  for (detail::SequenceLayout& sequence : layout.sequences) sequence.whole_queries = call.queries.rows();
  return layout;
}

}  // namespace

void gathered_forward(const Call& call, TensorView out, RowStateView row_state) {
  const std::vector<Tensor> all = gather(call.processes, call.keys, {call.k, call.v});
  const ConstTensorView k = all[0].view(), v = all[1].view();
  for (const QueryBlock& block : call.own_queries()) {
    if (block.chunk.rows() == 0 || call.batch() == 0) continue;
    const AttentionOptions options = call.options_of(block, {0, call.keys.rows()}, true);
    const ConstTensorView q = block.of(call.q);
    RowStateView state;
    if (row_state.max.given()) state = {block.of(row_state.max), block.of(row_state.sum)};
    host::attention(layout_of(call, q, k, v, options), q, k, v, options, block.of(out), state);
  }
}

void gathered_weights(const Call& call, const WeightsRequest& request, ConstRowStateView row_state,
                      WeightsSummary& summary) {
  const std::vector<Tensor> all = gather(call.processes, call.keys, {call.k});
  for (const QueryBlock& block : call.own_queries()) {
    const AttentionOptions options = call.options_of(block, {0, call.keys.rows()}, true);
    const ConstTensorView q = block.of(call.q), k = all[0].view();
    const detail::Layout layout = layout_of(call, q, k, {}, options);
    WeightsSummary part = detail::answers_wanted(layout, q, k, detail::computing_type(q.dtype()), request);
    host::summarize_weights(layout, q, k, options, request,
                            {block.of(row_state.max), block.of(row_state.sum)}, part);
    if (request.top_k > 0) {
      copy(part.top_keys, block.of(summary.top_keys.view()));
      copy(part.top_weights, block.of(summary.top_weights.view()));
    }
    if (request.entropy) copy(part.entropy, block.of(summary.entropy.view()));
  }
}

}  // namespace attend::spread
