#include "bench/inputs.h"

#include <algorithm>
#include <numbers>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"

namespace attend::bench {
namespace {

template <class T, class Convert>
void fill(Tensor& tensor, std::uint64_t seed, Convert convert) {
  constexpr std::int64_t kPiece = 65536;
  const auto values = tensor.values<T>();
  const std::int64_t count = tensor.count();
  parallel_for((count + kPiece - 1) / kPiece, [&](std::int64_t piece, int) noexcept {
    const std::int64_t end = std::min((piece + 1) * kPiece, count);
    for (std::int64_t i = piece * kPiece; i < end; ++i) {
      const double uniform = 2 * uniform_at(seed, static_cast<std::uint64_t>(i)) - 1;
      values[static_cast<std::size_t>(i)] = convert(static_cast<float>(std::numbers::sqrt3 * uniform));
    }
  });
}

}  // namespace

Tensor random_tensor(DType dtype, const Dims& shape, std::uint64_t seed) {
  Tensor tensor(dtype, shape);
  if (dtype == DType::f32) {
    fill<float>(tensor, seed, [](float value) { return value; });
  } else if (dtype == DType::bf16) {
    fill<bfloat16>(tensor, seed, [](float value) { return to_bfloat16(value); });
  } else if (dtype == DType::f16) {
    fill<float16>(tensor, seed, [](float value) { return to_float16(value); });
  } else {
    refuse("bench", "there are no random tensors of ", attend::name_of(dtype));
  }
  return tensor;
}

Inputs random_inputs(const Shape& shape, DType dtype) {
  const Dims queries = {shape.b, shape.hq, shape.lq, shape.d};
  const Dims keys = {shape.b, shape.hkv, shape.lk, shape.d};
  return {random_tensor(dtype, queries, 1), random_tensor(dtype, keys, 2), random_tensor(dtype, keys, 3)};
}

}  // namespace attend::bench
