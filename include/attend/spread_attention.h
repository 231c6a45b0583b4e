// attention() of one sequence that is spread over several processes: each has some of its queries, keys and
// values, and gets what belongs to them. docs/scale.md says what is sent and what it costs.
//
// All processes make the same call at the same time, with the same lengths, options and way, and each with
// its own rows: q (B, Hq, own queries, D), k (B, Hkv, own keys, D), v (B, Hkv, own keys, Dv), dense and on
// the host. A process that throws leaves the others waiting: end them all.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <attend/attention.h>
#include <attend/attention_backward.h>
#include <attend/processes.h>
#include <attend/weights.h>

namespace attend {

enum class SpreadWay : std::uint8_t {
  // Keys and values go around, one block at a time, and partial results are merged in a fixed order. Least
  // memory. The same bits at every run, but others for another number of processes: within rounding of one
  // process.
  ring,
  // Every process gets all keys and values, in the order of the sequence. The bits of one process. Memory of
  // all keys. What adds up over queries (backward, received) has its order within a head: it goes by `heads`.
  gathered,
  // Every process gets the whole sequence of some heads. The bits of one process. As many processes have work
  // as there are key heads.
  heads,
};
std::string_view name_of(SpreadWay way) noexcept;

// Rows [first, last) of the sequence.
struct RowChunk {
  std::int64_t first = 0, last = 0;
  std::int64_t rows() const noexcept { return last - first; }
};

// Which rows a process has: of 2 P chunks, as equal as whole rows allow, process i has chunk i and chunk 2 P
// - 1 - i, in this order. With causal attention all have the same work then.
class ZigzagCut {
 public:
  ZigzagCut(std::int64_t rows, int processes);
  std::int64_t rows() const noexcept { return rows_; }
  int processes() const noexcept { return processes_; }
  std::array<RowChunk, 2> chunks_of(int process) const;
  std::int64_t rows_of(int process) const;

 private:
  std::int64_t rows_;
  int processes_;
};

// Of the whole sequence, over all processes.
struct SpreadLengths {
  std::int64_t queries = 0, keys = 0;
};

// Every option but dropout and packed sequences. query_offset and key_lengths are those of the whole
// sequence. The last axis of mask and bias is 1 or all keys; the one before is 1 or this process's queries,
// and must be 1 where the way is by heads.
void spread_attention(Processes& processes, SpreadWay way, const SpreadLengths& lengths, ConstTensorView q,
                      ConstTensorView k, ConstTensorView v, const AttentionOptions& options, TensorView out,
                      RowStateView row_state = {});

// out and row_state: what spread_attention() wrote. All gradients but that of a bias; those of slopes and
// sinks are the whole sequence's, on every process. Around a ring there is none of f64.
void spread_attention_backward(Processes& processes, SpreadWay way, const SpreadLengths& lengths,
                               ConstTensorView q, ConstTensorView k, ConstTensorView v,
                               const AttentionOptions& options, ConstTensorView out,
                               ConstRowStateView row_state, ConstTensorView d_out,
                               const AttentionGradients& gradients);

// Top keys, counted in the whole sequence, and entropy of this process's queries; what this process's keys
// receive from all. No maps. Around a ring keys of different blocks are compared by their weights, so that
// two of which both weights round to one number are ordered by key.
WeightsSummary spread_weights(Processes& processes, SpreadWay way, const SpreadLengths& lengths,
                              ConstTensorView q, ConstTensorView k, const AttentionOptions& options,
                              const WeightsRequest& request, ConstRowStateView row_state);

// What a process sends in one of these calls, in bytes: the mean over the processes. Tensors of f32, out
// included.
struct SpreadShape {
  std::int64_t batch = 1, query_heads = 1, key_heads = 1, d = 64, dv = 64;
};
double spread_forward_bytes(SpreadWay way, const SpreadLengths& lengths, const SpreadShape& shape,
                            int processes);
double spread_backward_bytes(SpreadWay way, const SpreadLengths& lengths, const SpreadShape& shape,
                             int processes);
double spread_weights_bytes(SpreadWay way, const SpreadLengths& lengths, const SpreadShape& shape,
                            const WeightsRequest& request, int processes);

}  // namespace attend
