#include "train/optimiser.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/parallel.h"
#include "kernels/adamw/adamw.h"
#include "kernels/isa.h"

namespace attend::train {
namespace {

// Numbers that a thread takes at once: a few microseconds of work. Fixed, so that sums have the same bits
// with any number of threads.
constexpr std::int64_t kPiece = 16384;

struct Piece {
  std::int64_t offset, count;
  bool decays;
};

std::vector<Piece> pieces_of(const Parameters& parameters) {
  std::vector<Piece> pieces;
  for (int i = 0; i < parameters.count(); ++i) {
    const Parameter& parameter = parameters[i];
    const std::int64_t size = element_count(parameter.shape);
    for (std::int64_t first = 0; first < size; first += kPiece) {
      pieces.push_back({parameter.offset + first, std::min(kPiece, size - first), parameter.decays});
    }
  }
  return pieces;
}

template <class T>
double squares(const T* values, std::int64_t n) noexcept {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int u = 0; u < 8; ++u) {
      const auto value = static_cast<double>(values[i + u]);
      sums[u] += value * value;
    }
  }
  for (; i < n; ++i) sums[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

template <class T>
double norm_of(Parameters& parameters) {
  const std::vector<Piece> pieces = pieces_of(parameters);
  std::vector<double> sums(pieces.size());
  const T* const gradients = parameters.gradients().data<T>();
  parallel_for(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t index, int) noexcept {
    const Piece& piece = pieces[static_cast<std::size_t>(index)];
    sums[static_cast<std::size_t>(index)] = squares(gradients + piece.offset, piece.count);
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

template <class T>
void take_step(Parameters& parameters, const kernels::AdamStep& step) {
  const std::vector<Piece> pieces = pieces_of(parameters);
  const T* const gradients = parameters.gradients().data<T>();
  T* const values = parameters.values().data<T>();
  T* const first = parameters.first_moments().data<T>();
  T* const second = parameters.second_moments().data<T>();
  parallel_for(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t index, int) noexcept {
    const Piece& piece = pieces[static_cast<std::size_t>(index)];
    kernels::AdamStep own = step;
    if (!piece.decays) own.decay = 0;
    kernels::adamw(own, gradients + piece.offset, piece.count, values + piece.offset, first + piece.offset,
                   second + piece.offset);
  });
}

}  // namespace

double Schedule::rate(std::int64_t step) const {
  if (step < warmup) return peak * static_cast<double>(step) / static_cast<double>(warmup);
  if (step >= steps) return peak * floor;
  const double way =
      static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(1, steps - warmup));
  return peak * (floor + (1 - floor) * (1 + std::cos(std::numbers::pi * way)) / 2);
}

double gradient_norm(Parameters& parameters) {
  return parameters.dtype() == DType::f32 ? norm_of<float>(parameters) : norm_of<double>(parameters);
}

void adamw_step(Parameters& parameters, const AdamWOptions& options, double rate, std::int64_t step,
                double norm) {
  kernels::require_isa();
  // As in PyTorch, with a tiny constant that keeps the denominator from being 0.
  const double factor = options.clip > 0 ? std::min(1.0, options.clip / (norm + 1e-6)) : 1;
  const kernels::AdamStep one{.rate = rate,
                              .beta1 = options.beta1,
                              .beta2 = options.beta2,
                              .epsilon = options.epsilon,
                              .decay = options.decay,
                              .gradient_factor = factor,
                              .step = step};
  parameters.dtype() == DType::f32 ? take_step<float>(parameters, one) : take_step<double>(parameters, one);
}

}  // namespace attend::train
