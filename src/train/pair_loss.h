// Losses of pairs of vectors by their cosines, with gradients: pair i is row i of `first` and of `second`,
// (n, E) each, f32 or f64. Intermediate results are float64, in a fixed order. The cosine of a row of zeros
// is 0, and so is its gradient.
#pragma once

#include <attend/tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace attend::train {

// (n, m) in f64: of each row of `first`, (n, E), with each of `second`, (m, E).
Tensor cosines(ConstTensorView first, ConstTensorView second);
// Of each pair.
std::vector<double> pair_cosines(ConstTensorView first, ConstTensorView second);

// The sum over the pairs of (cosine - score)^2. d_first and d_second, of the shape and type of what they
// belong to, become weight times its gradient; both or neither are given.
double cosine_regression(ConstTensorView first, ConstTensorView second, std::span<const double> scores,
                         double weight, TensorView d_first = {}, TensorView d_second = {});

struct Contrast {
  double scale = 20;
  // Numbers that identify equal texts, (n) each, or none. Two pairs that share a text are not an example of
  // what does not belong together, so neither counts as a wrong answer to the other.
  std::span<const std::int64_t> first_texts{}, second_texts{};

  bool tells_apart(std::size_t one, std::size_t other) const {
    if (one == other) return true;
    const auto same = [&](std::span<const std::int64_t> texts) {
      return !texts.empty() && texts[one] == texts[other];
    };
    return !same(first_texts) && !same(second_texts);
  }
};

// Each vector is to find its own partner among those of the batch: over scale * cosine, the cross-entropy of
// finding second_i from first_i and of finding first_i from second_i, the mean of both, added up over i. Both
// ways, since a pair of sentences has no direction. Gradients as above.
double contrastive(ConstTensorView first, ConstTensorView second, const Contrast& contrast, double weight,
                   TensorView d_first = {}, TensorView d_second = {});

}  // namespace attend::train
