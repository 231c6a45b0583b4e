// Attention of a few queries against many keys, in fp32 over Google Highway: K and V are read where they are,
// as they are stored, once for all the queries that share them. One source, compiled for each instruction
// set, chosen at run time.
//
// Keys are cut into blocks, each an independent piece of work that gives an unfinished row (o, max, sum);
// finish_decode() puts the pieces of a row together. Blocks lie at multiples of kDecodeBlock,
// whatever the lengths, so a row's bits depend on the keys that it sees and on nothing else.
#pragma once

#include <attend/dtype.h>

#include <cstdint>

#include "kernels/attention/head.h"
#include "kernels/attention/row_state.h"

namespace attend::kernels {

inline constexpr std::int64_t kDecodeBlock = 512;  // keys
inline constexpr std::int64_t kDecodeRows = 16;    // the most rows that are worked on together

// The rows of one key head, stored as f32, bf16 or f16; the elements of a row are contiguous. Strides
// count elements. int8_rows: each row is one of int8_row.h, and strides count floats.
struct StoredKeys {
  DType dtype = DType::f32;
  bool int8_rows = false;
  const void* k = nullptr;  // (keys, d)
  const void* v = nullptr;  // (keys, dv)
  std::int64_t k_stride = 0, v_stride = 0;
};

// One query of one head. The head's own k and v are not looked at.
struct DecodeRow {
  const Head<float>* head = nullptr;
  std::int64_t query = 0;
};

std::int64_t scratch_size_decode(std::int64_t d, std::int64_t dv) noexcept;

// What keys [keys.begin, keys.end) of one block give `count` rows (at most kDecodeRows): o (count, dv), the
// sum of exp(biased - max) v, and state (count), the max and the sum. Sinks are left to finish_decode().
// scratch: 64-byte aligned.
void attention_decode(const StoredKeys& stored, const DecodeRow* rows, std::int64_t count, KeyRange keys,
                      float* o, RowNumbers* state, float* scratch) noexcept;

// The result of one row from its `blocks` pieces, in their order: piece b is o + b * o_stride and
// state[b * state_stride]. Overwrites the state.
void finish_decode(std::int64_t blocks, const float* o, std::int64_t o_stride, RowNumbers* state,
                   std::int64_t state_stride, float sink, std::int64_t dv, float* out,
                   RowNumbers& row) noexcept;

}  // namespace attend::kernels
