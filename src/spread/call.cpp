#include "spread/call.h"

#include <algorithm>

#include "attention/layout.h"
#include "base/check.h"
#include "base/error.h"

namespace attend::spread {
namespace {

void check_rows(const char* operation, const char* name, std::int64_t rows, const ZigzagCut& cut, int rank) {
  if (rows != cut.rows_of(rank))
    refuse(operation, name, " has ", rows, " rows, but process ", rank, " of ", cut.processes(), " has ",
           cut.rows_of(rank), " of the sequence's ", cut.rows());
}

// The last two axes of a mask or bias: this process's queries, and all keys.
void check_table(const Call& call, const char* name, ConstTensorView view) {
  const int rank = view.rank();
  const auto check_axis = [&](int from_last, const char* what, std::int64_t size) {
    if (rank < from_last) return;
    const std::int64_t have = view.size(rank - from_last);
    if (have != 1 && have != size)
      refuse(call.operation, name, " has shape ", to_string(view.shape()), ", expected 1 or ", size, " ",
             what);
  };
  check_axis(1, "keys, all of the sequence", call.keys.rows());
  check_axis(2, "queries, those of this process", call.queries.rows_of(call.processes.rank()));
}

// The part of a mask or bias that belongs to some rows and keys.
ConstTensorView part_of_table(ConstTensorView view, const QueryBlock& block, RowChunk keys) {
  if (!view.given()) return view;
  const int rank = view.rank();
  if (rank >= 1 && view.size(rank - 1) != 1) view = view.slice(rank - 1, keys.first, keys.last);
  if (rank >= 2 && view.size(rank - 2) != 1)
    view = view.slice(rank - 2, block.at, block.at + block.chunk.rows());
  return view;
}

}  // namespace

Call::Call(const char* operation_, Processes& processes_, const SpreadLengths& lengths, ConstTensorView q_,
           ConstTensorView k_, ConstTensorView v_, const AttentionOptions& options_)
    : operation(operation_),
      processes(processes_),
      q(q_),
      k(k_),
      v(v_),
      options(options_),
      queries(lengths.queries, processes_.count()),
      keys(lengths.keys, processes_.count()) {
  if (options.dropout != 0)
    refuse(operation,
           "dropout is not spread over processes: which weights it drops depends on places in one call");
  if (!options.cumulative_query_lengths.empty() || !options.cumulative_key_lengths.empty())
    refuse(operation,
           "packed sequences are not spread over processes: one long sequence is, or a batch of them");
  for (const detail::NamedView& one : {detail::NamedView{"query", q}, {"key", k}, {"value", v}}) {
    if (!one.view.given()) continue;  // check_attention says which
    if (!one.view.device().is_host())
      refuse(operation, one.name, " is on ", to_string(one.view.device()), ", expected it on the host");
  }
  // Everything that does not depend on the rows, by the same rules as for one process.
  AttentionOptions alone = options;
  alone.mask = alone.bias = {};
  alone.key_lengths.clear();
  const auto no_rows = [](ConstTensorView view) { return view.rank() == 4 ? view.slice(2, 0, 0) : view; };
  const detail::Layout layout =
      detail::check_attention(operation, no_rows(q), no_rows(k), v.given() ? no_rows(v) : v, alone);
  const int rank = processes.rank();
  check_rows(operation, "query", q.size(2), queries, rank);
  check_rows(operation, "key", k.size(2), keys, rank);
  if (v.given()) check_rows(operation, "value", v.size(2), keys, rank);
  check_table(*this, "mask", options.mask);
  check_table(*this, "bias", options.bias);

  key_lengths.assign(static_cast<std::size_t>(batch()), keys.rows());
  if (!options.key_lengths.empty()) {
    if (options.key_lengths.size() != key_lengths.size())
      refuse(operation, "key_lengths has ", options.key_lengths.size(), " entries for ", batch(),
             " sequences");
    key_lengths = options.key_lengths;
    for (const std::int64_t length : key_lengths) {
      if (length < 0 || length > keys.rows())
        refuse(operation, "key_lengths holds ", length, ", expected 0 to ", keys.rows());
    }
  }
  const bool from_right = options.query_offset.kind() == QueryOffset::Kind::bottom_right;
  for (std::size_t s = 0; s < key_lengths.size(); ++s)
    offsets.push_back(from_right ? key_lengths[s] - queries.rows() : layout.sequences[s].query_offset);
}

std::array<QueryBlock, 2> Call::blocks_of(const ZigzagCut& cut, int process) {
  const auto [first, second] = cut.chunks_of(process);
  return {QueryBlock{first, 0}, QueryBlock{second, first.rows()}};
}

AttentionOptions Call::options_of(const QueryBlock& block, RowChunk seen, bool with_sinks) const {
  AttentionOptions part = options;
  part.mask = part_of_table(options.mask, block, seen);
  part.bias = part_of_table(options.bias, block, seen);
  if (!with_sinks) part.sinks.clear();
  std::vector<std::int64_t> moved;
  part.key_lengths.clear();
  for (std::size_t s = 0; s < offsets.size(); ++s) {
    moved.push_back(offsets[s] + block.chunk.first - seen.first);
    part.key_lengths.push_back(std::clamp<std::int64_t>(key_lengths[s] - seen.first, 0, seen.rows()));
  }
  part.query_offset = std::move(moved);
  return part;
}

bool Call::meet(const QueryBlock& block, RowChunk seen) const {
  if (block.chunk.rows() == 0) return false;
  for (std::size_t s = 0; s < offsets.size(); ++s) {
    const std::int64_t last_key = std::min(seen.last, key_lengths[s]) - 1;
    const std::int64_t first = offsets[s] + block.chunk.first, last = offsets[s] + block.chunk.last - 1;
    bool meets = seen.first <= last_key;
    if (options.causal) meets = meets && seen.first <= last;
    // Distances, so that the widest windows cannot overflow.
    if (options.window.right >= 0) meets = meets && seen.first - last <= options.window.right;
    if (options.window.left >= 0) meets = meets && first - last_key <= options.window.left;
    if (meets) return true;
  }
  return false;
}

}  // namespace attend::spread
