// One head of one sequence on the device, and what the options make of a score: the counterpart of
// kernels/attention/head.h.
#pragma once

#include <math_constants.h>

#include "cuda/elements.cuh"
#include "cuda/problem.h"

namespace attend::cuda {

struct Head {
  Sequence sequence;
  Visible visible;
  const char *q, *k, *v;  // row 0
  const char* mask;       // null: none
  const char* bias;
  float slope, sink;  // 0 and -inf: none
  Coins coins;

  __device__ Head(const Problem& p, std::int64_t s, std::int64_t h) {
    sequence = p.each == nullptr ? p.same : p.each[s];
    visible = {sequence.key_count, sequence.query_offset, p.window_left, p.window_right, p.causal != 0};
    q = row_of(p.q, s, h, sequence.query_begin);
    k = row_of(p.k, s, h / p.group, sequence.key_begin);
    v = p.v.data == nullptr ? nullptr : row_of(p.v, s, h / p.group, sequence.key_begin);
    mask = p.mask.data == nullptr ? nullptr : row_of(p.mask, s, h, 0);
    bias = p.bias.data == nullptr ? nullptr : row_of(p.bias, s, h, 0);
    slope = p.slopes == nullptr ? 0.f : p.slopes[h];
    sink = p.sinks == nullptr ? -CUDART_INF_F : p.sinks[h];
    coins = p.drops() ? Coins::of(p.coin_threshold, p.dropout_seed, s, h) : Coins{};
  }

  __device__ static int bytes_of(Number number) {
    return number == Number::boolean                          ? 1
           : number == Number::f32                            ? 4
           : number == Number::f64 || number == Number::i64 ? 8
                                                              : 2;
  }
  __device__ static const char* row_of(const Placed& tensor, std::int64_t s, std::int64_t h, std::int64_t row) {
    return tensor.data + (s * tensor.sequence + h * tensor.head + row * tensor.row) * bytes_of(tensor.number);
  }

  __device__ float bias_at(const Problem& p, std::int64_t i, std::int64_t j) const {
    return bias == nullptr ? 0.f : load_float(bias, p.bias.number, i * p.bias.row + j * p.bias.element);
  }
  // Of a key inside visible.keys_of(i).
  __device__ bool takes_part(const Problem& p, std::int64_t i, std::int64_t j) const {
    return (mask == nullptr || mask[i * p.mask.row + j * p.mask.element] != 0) &&
           bias_at(p, i, j) != -CUDART_INF_F;
  }
  __device__ float distance(std::int64_t i, std::int64_t j) const {
    const std::int64_t apart = i + sequence.query_offset - j;
    return static_cast<float>(apart < 0 ? -apart : apart);
  }
  __device__ static float capped(const Problem& p, float score) {
    return p.softcap == 0 ? score : p.softcap * tanhf(score / p.softcap);
  }
  // What a score becomes; -inf for a key that takes no part. `span` is visible.keys_of(i).
  __device__ float biased(const Problem& p, KeySpan span, std::int64_t i, std::int64_t j, float score) const {
    if (j < span.begin || j >= span.end || !takes_part(p, i, j)) return -CUDART_INF_F;
    float value = capped(p, score) + bias_at(p, i, j);
    if (slope != 0) value -= slope * distance(i, j);
    return value;
  }
};

// Where a result of (sequence, head, query) goes.
struct Target {
  Placed tensor;  // no data: not wanted
  __device__ char* row(const Problem& p, const Head& head, std::int64_t s, std::int64_t h, std::int64_t i) const {
    return const_cast<char*>(Head::row_of(tensor, s, h, head.sequence.query_begin + i));
  }
};

}  // namespace attend::cuda
