#include "doctor/agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "draw/number.h"

namespace attend::doctor {
namespace {

struct Pair {
  double cosine, distance, direction, max_abs_error;
};

Pair compare_row(const double* a, const double* b, std::int64_t size) {
  double aa = 0, bb = 0, ab = 0, off = 0, largest = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double d = a[i] - b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
    ab += a[i] * b[i];
    off += d * d;
    largest = std::max(largest, std::abs(d));
  }
  if (std::isnan(off)) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {-1, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), none};
  }
  if (aa == 0 || bb == 0) {
    const double equal = aa == bb ? 0 : 1;
    return {1 - equal, equal, equal, largest};
  }
  // Not from the cosine, whose last digits would dominate it, but from the vectors scaled to length 1.
  double apart = 0;
  const double x = 1 / std::sqrt(aa), y = 1 / std::sqrt(bb);
  for (std::int64_t i = 0; i < size; ++i) {
    const double d = a[i] * x - b[i] * y;
    apart += d * d;
  }
  return {ab * x * y, std::sqrt(off / bb), std::sqrt(apart), largest};
}

}  // namespace

std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::fp32_noise:
      return "within fp32 noise";
    case Verdict::f16_noise:
      return "within f16 noise";
    case Verdict::differs:
      break;
  }
  return "differs";
}

Verdict verdict_of(double distance) noexcept {
  if (distance <= kFp32Noise) return Verdict::fp32_noise;
  return distance <= kF16Noise ? Verdict::f16_noise : Verdict::differs;
}

Verdict token_verdict_of(double distance) noexcept {
  if (distance <= kFp32Noise) return Verdict::fp32_noise;
  return distance <= kF16TokenNoise ? Verdict::f16_noise : Verdict::differs;
}

Agreement compare(ConstTensorView ours, ConstTensorView reference) {
  Agreement result{.texts = reference.size(0)};
  const Tensor left = copy_of(ours, DType::f64), right = copy_of(reference, DType::f64);
  const std::int64_t size = reference.size(1);
  for (std::int64_t i = 0; i < result.texts; ++i) {
    const Pair pair =
        compare_row(left.values<double>().data() + i * size, right.values<double>().data() + i * size, size);
    result.cosines.push_back(pair.cosine);
    if (pair.cosine < result.cosines[static_cast<std::size_t>(result.worst_text)]) result.worst_text = i;
    if (!(pair.max_abs_error <= result.max_abs_error)) result.max_abs_error = pair.max_abs_error;
    result.distance = std::max(result.distance, pair.distance);
    result.direction = std::max(result.direction, pair.direction);
  }
  if (result.texts == 0) return result;
  std::vector<double> sorted = result.cosines;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  result.worst_cosine = sorted.front();
  result.median_cosine = sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return result;
}

std::string cosine_text(double cosine) {
  if (cosine > 1 - 1e-6) return joined("1 - ", draw::format_short(std::max(0.0, 1 - cosine), 2));
  return draw::format_short(cosine, 6);
}

std::optional<DType> narrow_type_of(ConstTensorView numbers) {
  const Tensor as_f64 = copy_of(numbers, DType::f64);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor back = copy_of(copy_of(numbers, dtype), DType::f64);
    if (std::ranges::equal(as_f64.values<double>(), back.values<double>())) return dtype;
  }
  return std::nullopt;
}

}  // namespace attend::doctor
