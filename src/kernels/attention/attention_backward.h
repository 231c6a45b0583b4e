// Backward attention in fp32 over Google Highway. The scores of a tile of queries and keys are made again and
// turned into gradients while they are in the cache. One source, compiled for each instruction set.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/attention/head.h"

namespace attend::kernels {

// What backward needs to know of each row, (queries) of it.
struct BackwardRows {
  float* base = nullptr;     // the row's maximum; 0 for a row without keys
  float* inverse = nullptr;  // 1 / sum; 0 for a row without keys
  float* delta = nullptr;    // d_out . out
};

// One query head: its inputs, and where its gradients are added. Any target may be null.
struct BackwardHead {
  Head<float> head;
  const float* d_out = nullptr;  // (queries, dv)
  std::int64_t d_out_stride = 0;
  BackwardRows rows;

  float* q = nullptr;  // (queries, d)
  std::int64_t q_stride = 0;
  float* bias = nullptr;  // (queries, keys): the gradient of the biased scores
  std::int64_t bias_query_stride = 0, bias_key_stride = 0;
  float* bias_of_query = nullptr;  // (queries): the same, summed over keys
  float* bias_of_key = nullptr;    // (keys): the same, summed over queries
  float* slope = nullptr;          // (queries): the gradient of the slope, in parts
};

// Keys and values are shared by the query heads of a group. Null where no gradient is wanted.
struct KeyGradients {
  float* k = nullptr;  // (keys, d), added to
  float* v = nullptr;  // (keys, dv)
  std::int64_t k_stride = 0, v_stride = 0;
};

// Queries that are worked on together; a head's queries are cut at multiples of it.
std::int64_t backward_tile_queries() noexcept;
// Keys whose gradients one call keeps at hand: the most that a call may be given.
std::int64_t backward_block_keys() noexcept;
std::int64_t scratch_size_backward(std::int64_t d, std::int64_t dv) noexcept;

// Rows [first, last) of base, inverse and delta. max, sum and out as forward left them.
void backward_rows(const BackwardHead& head, const HeadOutput<const float>& forward, std::int64_t first,
                   std::int64_t last) noexcept;

// All that tiles [first_tile, last_tile) of a group's queries have to do with keys [keys.begin, keys.end).
// Tiles are counted head after head. scratch: 64-byte aligned.
void attention_backward(std::span<const BackwardHead> group, std::int64_t first_tile, std::int64_t last_tile,
                        KeyRange keys, const KeyGradients& gradients, float* scratch) noexcept;

// -(sum of the sink's weight times delta): the gradient of the sink of one head.
double backward_sink(const BackwardHead& head) noexcept;

}  // namespace attend::kernels
