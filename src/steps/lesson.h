// What `attend steps` works on: a handful of tokens, their vectors, and what to do with them. float64
// throughout.
#pragma once

#include <attend/tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attend::steps {

// Either x (then q, k and v are x itself, or its projections by wq, wk, wv), or q, k and v directly.
struct Lesson {
  std::string title;                    // one line for the reader; empty for a user's file
  std::string note;                     // what the columns of x stand for; may be empty
  std::vector<std::string> tokens;      // one per query
  std::vector<std::string> key_tokens;  // one per key; the same as tokens in self-attention

  std::optional<Tensor> x;        // (n, e)
  std::optional<Tensor> context;  // (m, e): keys and values come from here (cross-attention); else from x
  std::optional<Tensor> q, k, v;  // (n, heads * d), (m, heads * d), (m, heads * dv)

  std::optional<Tensor> wq, wk, wv, wo;  // (e, heads * d), ..., (heads * dv, e_out); wq, wk, wv all or none
  std::optional<Tensor> bq, bk, bv, bo;  // one value per column of the matrix they go with

  std::int64_t heads = 1;
  bool causal = false;
  std::optional<double> scale;        // default: 1 for x without projections or heads, else 1 / sqrt(d)
  bool sinusoidal_positions = false;  // added to x (and context) first
};

}  // namespace attend::steps
