#include "lens/value_products.h"

#include <algorithm>

#include "base/parallel.h"

namespace attend::lens {
namespace {

constexpr std::int64_t kBlock = 256;  // tokens whose vectors exist at the same time

double product(const float* a, const float* b, std::int64_t size) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

Tensor value_products(const Reading& reading, std::int64_t layer, std::optional<std::int64_t> head_index) {
  const Transformer& transformer = reading.model().transformer();
  const std::int64_t n = reading.size(), e = transformer.description().hidden_size;
  const std::int64_t first_index = head_index.value_or(0), heads = head_index ? 1 : reading.heads();
  const ConstTensorView values = reading.layer(layer).v;
  const std::int64_t group = reading.heads() / values.size(1);  // heads that share keys and values
  Tensor products(DType::f64, {n, heads, heads});
  Tensor projected(DType::f32, {heads, std::min(n, kBlock), e});
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t count = std::min(kBlock, n - first);
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t index = first_index + h;
      transformer.project_head(layer, index + 1,
                               values.slice(0, first, first + count).select(1, index / group),
                               projected.view().select(0, h).slice(0, 0, count));
    }
    const float* const data = projected.values<float>().data();
    double* const result = products.values<double>().data() + first * heads * heads;
    const std::int64_t stride = projected.size(1) * e;
    parallel_for(count, [&](std::int64_t j, int) noexcept {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t g = 0; g <= h; ++g) {
          const double value = product(data + h * stride + j * e, data + g * stride + j * e, e);
          result[(j * heads + h) * heads + g] = result[(j * heads + g) * heads + h] = value;
        }
      }
    });
  }
  return products;
}

}  // namespace attend::lens
