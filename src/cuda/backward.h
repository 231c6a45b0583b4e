// The gradients of attention: what every kernel of the backward pass reads and writes, the kernels, and the
// table's entry.
#pragma once

#include "cuda/problem.h"

namespace attend::cuda {

// What the backward pass needs to know of each row, made once from out, d_out and the row state.
struct RowTerms {
  float* base = nullptr;                // the largest score; 0 for a row without keys
  float* inverse = nullptr;             // 1 / sum; 0 for a row without keys
  float* delta = nullptr;               // d_out . out
  float* log2_sum = nullptr;            // the log-sum-exp in powers of 2; infinity for a row without keys
  std::int64_t sequence = 0, head = 0;  // strides

  __host__ __device__ std::int64_t at(std::int64_t s, std::int64_t h, std::int64_t row) const {
    return s * sequence + h * head + row;
  }
};

struct BackwardProblem {
  Problem problem;
  Placed out, d_out;
  RowTerms rows;
  Placed d_q, d_k, d_v;  // no data: not wanted
};

// One number for each head.
struct PerHeadTarget {
  char* data = nullptr;
  Number number = Number::f32;
  std::int64_t stride = 0;
};

// rows.base, inverse, delta and log2_sum of every row.
void make_row_terms(plugin::Place place, const plugin::Attention& call, const BackwardProblem& backward,
                    const Placed& max, const Placed& sum);
// What the weight of a sink adds up to over the rows of its head.
void sink_gradient(plugin::Place place, const plugin::Attention& call, const BackwardProblem& backward,
                   const PerHeadTarget& target);

// Any type that computes in f32, any size, any strides, every option: d_q, d_k and d_v as far as they are
// wanted, and the gradients of the slopes.
void portable_backward(plugin::Place place, const plugin::Attention& call, const BackwardProblem& backward,
                       const PerHeadTarget& slopes);
void bias_gradient(plugin::Place place, const plugin::Attention& call, const BackwardProblem& backward,
                   const plugin::View& target);

// wgmma and TMA: compute capability 9.0, 16-bit types, head sizes up to 128, causal, windows, lengths and
// sinks.
bool hopper_takes_backward(plugin::Place place, const plugin::Attention& call, const plugin::View& d_out);
void hopper_backward(plugin::Place place, const plugin::Attention& call, const plugin::View& d_out,
                     const BackwardProblem& backward);

void attention_backward(plugin::Place place, const plugin::Attention& call, const plugin::View& out,
                        const plugin::RowState& state, const plugin::View& d_out,
                        const plugin::Gradients& gradients);

}  // namespace attend::cuda
