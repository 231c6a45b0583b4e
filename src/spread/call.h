// A call on a spread sequence as one process sees it: checked, and cut into blocks of queries and keys.
#pragma once

#include <attend/spread_attention.h>

#include <cstdint>
#include <vector>

namespace attend::spread {

// Some of this process's queries: a chunk of the sequence, and where its rows are in this process's tensors.
struct QueryBlock {
  RowChunk chunk;
  std::int64_t at = 0;
  template <class View>
  View of(const View& view) const {
    return view.slice(2, at, at + chunk.rows());
  }
};

// Views are taken by value: they are small.
struct Call {
  // v may be not given. Refuses whatever cannot be carried over processes, in one sentence, before anything
  // is sent.
  Call(const char* operation, Processes& processes, const SpreadLengths& lengths, ConstTensorView q,
       ConstTensorView k, ConstTensorView v, const AttentionOptions& options);

  // The blocks of rows [first, last) of a cut that a process has, in its own tensors.
  static std::array<QueryBlock, 2> blocks_of(const ZigzagCut& cut, int process);
  std::array<QueryBlock, 2> own_queries() const { return blocks_of(queries, processes.rank()); }

  // The options of the call for some queries and keys [keys.first, keys.last) alone. Sinks take weight once,
  // so one block of keys alone may have them.
  AttentionOptions options_of(const QueryBlock& block, RowChunk keys, bool with_sinks) const;
  // Whether by their positions any of these queries may see any of these keys.
  bool meet(const QueryBlock& block, RowChunk keys) const;

  std::int64_t batch() const { return q.size(0); }
  std::int64_t query_heads() const { return q.size(1); }
  std::int64_t key_heads() const { return k.size(1); }
  DType computes_in() const { return q.dtype() == DType::f64 ? DType::f64 : DType::f32; }

  const char* operation;
  Processes& processes;
  ConstTensorView q, k, v;
  const AttentionOptions& options;
  ZigzagCut queries, keys;
  std::vector<std::int64_t> offsets;      // of query 0 of each sequence
  std::vector<std::int64_t> key_lengths;  // of each sequence
};

}  // namespace attend::spread
