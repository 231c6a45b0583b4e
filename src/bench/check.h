// Answers are checked against float64 before they are timed; a wrong one ends the benchmark.
//
// The reference takes a second for every few million scores, so long sequences are checked on sampled rows. A
// row of the output, and of the gradient of the queries, depends on its own query alone: the reference is
// given that query, all keys, and the position of the query. The gradients of keys and values sum over all
// queries, but they are linear in the gradient of the output: where that is 0 except in the sampled rows, the
// reference needs those rows only, and every key and value is compared.
#pragma once

#include <attend/attention.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/inputs.h"

namespace attend::bench {

struct WrongAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The largest difference. Throws WrongAnswer, naming `what`, when it is above `bound` or NaN.
double require_close(const std::string& what, ConstTensorView got, ConstTensorView expected, double bound);

// One query of one head.
struct SampledRow {
  std::int64_t sequence, head, query;
};

// Up to 16 different rows, spread over heads and queries, including the first and the last query.
std::vector<SampledRow> sample_rows(const Shape& shape);

// These return the largest difference found. Outputs must be within `bound`, gradients within `relative` of
// the largest gradient. A mask or a bias has two axes: queries and keys.
double check_output(const std::string& what, const Inputs& inputs, const AttentionOptions& options,
                    ConstTensorView out, double bound = 1e-5);
// What an output that attention() made on the host must be within: weights of 8 bits where it multiplies
// bf16.
double output_bound(const Inputs& inputs, const AttentionOptions& options);
// |out - expected| / |expected| over the sampled rows: how far an output is that was made of rounded inputs.
double relative_error(const Inputs& inputs, const AttentionOptions& options, ConstTensorView out);

struct Gradients {
  Tensor q, k, v;
};
// Computes the gradients from the gradient of the output.
using BackwardCall = std::function<Gradients(ConstTensorView d_out)>;
double check_backward(const std::string& what, const Inputs& inputs, const AttentionOptions& options,
                      const BackwardCall& backward, double relative = 1e-4);
// `relative` for gradients that attention_backward() made on the host, and the relative error of gradients,
// as of outputs.
double gradients_bound(const Inputs& inputs, const AttentionOptions& options);
double relative_error_of_gradients(const Inputs& inputs, const AttentionOptions& options,
                                   const BackwardCall& backward);

}  // namespace attend::bench
