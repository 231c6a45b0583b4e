// Every gradient that a case has, and how far two sets of them are apart.
#pragma once

#include <attend/reference.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "support/attention_case.h"
#include "support/compare.h"
#include "support/random.h"

namespace attend {

struct GradientSet {
  Tensor q, k, v, bias, slopes, sinks;
  AttentionGradients views;
  double farthest = 1;  // a bound of the distances that a gradient of slopes is weighted with

  // Filled with something that is not a gradient, since gradients are written and not added to.
  GradientSet(const AttentionInputs& in, DType dtype, DType sums) {
    const auto make = [](Tensor& tensor, TensorView& view, DType type, const Dims& shape) {
      tensor = random_normal(shape, type, 99);
      view = tensor;
    };
    make(q, views.q, dtype, in.q.shape());
    make(k, views.k, dtype, in.k.shape());
    make(v, views.v, dtype, in.v.shape());
    if (in.options.bias.given()) make(bias, views.bias, sums, in.options.bias.shape());
    const Dims heads{in.q.size(1)};
    farthest +=
        static_cast<double>(in.q.size(in.q.rank() == 3 ? 0 : 2) + in.k.size(in.k.rank() == 3 ? 0 : 2));
    if (!in.options.alibi_slopes.empty()) make(slopes, views.alibi_slopes, sums, heads);
    if (!in.options.sinks.empty()) make(sinks, views.sinks, sums, heads);
  }
};

inline Tensor random_d_out(const AttentionInputs& in, DType dtype, std::uint64_t seed) {
  return random_normal(in.output_shape(), dtype, seed + 20);
}

inline GradientSet reference_gradients(const AttentionInputs& in, const Tensor& d_out) {
  GradientSet set(in, DType::f64, DType::f64);
  reference::attention_backward(in.q, in.k, in.v, in.options, d_out, set.views);
  return set;
}

// Forward, then backward, in fp32.
inline GradientSet fused_gradients(const AttentionInputs& in, const Tensor& d_out) {
  Tensor out = in.output(DType::f32);
  RowState state(in.q);
  attention(in.q, in.k, in.v, in.options, out, state);
  GradientSet set(in, DType::f32, DType::f32);
  attention_backward(in.q, in.k, in.v, in.options, out, state, d_out, set.views);
  return set;
}

// The largest error of any gradient, relative to the largest element of that gradient where it is above 1
// (of slopes: to the distances that weigh their terms); infinity where one is NaN and the other is not.
// `where` gets its name.
inline double largest_error(const GradientSet& got, const GradientSet& expected, std::string& where) {
  double largest = -1;
  const auto look = [&](const char* name, const Tensor& a, const Tensor& b, double size = 1) {
    for (const double value : values_of(b)) {
      if (std::isfinite(value)) size = std::max(size, std::abs(value));
    }
    const double error = max_abs_difference(a, b) / size;
    if (error > largest) {
      largest = error;
      where = name;
    }
  };
  look("d_q", got.q, expected.q);
  look("d_k", got.k, expected.k);
  look("d_v", got.v, expected.v);
  look("d_bias", got.bias, expected.bias);
  look("d_alibi_slopes", got.slopes, expected.slopes, expected.farthest);
  look("d_sinks", got.sinks, expected.sinks);
  return largest;
}

inline bool same_gradients(const GradientSet& a, const GradientSet& b) {
  return same_bits(a.q, b.q) && same_bits(a.k, b.k) && same_bits(a.v, b.v) && same_bits(a.bias, b.bias) &&
         same_bits(a.slopes, b.slopes) && same_bits(a.sinks, b.sinks);
}

}  // namespace attend
