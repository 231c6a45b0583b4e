#include "nn/row_products.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/isa.h"
#include "kernels/matmul/row_products.h"

namespace attend::detail {
namespace {

constexpr std::int64_t kRowsOfAChunk = 512;

template <class T>
void multiply_rows(ConstTensorView x, ConstTensorView table, TensorView out) {
  const std::int64_t rows = table.size(0), chunks = (rows + kRowsOfAChunk - 1) / kRowsOfAChunk;
  const auto* const words = static_cast<const T*>(table.raw());
  const auto* const from = static_cast<const float*>(x.raw());
  auto* const to = static_cast<float*>(out.raw());
  parallel_for(chunks, [&](std::int64_t chunk, int) noexcept {
    const std::int64_t first = chunk * kRowsOfAChunk, count = std::min(kRowsOfAChunk, rows - first);
    for (std::int64_t i = 0; i < x.size(0); ++i) {  // the chunk's rows stay in the cache
      kernels::row_products(from + i * x.stride(0), x.size(1), words + first * table.stride(0),
                            table.stride(0), count, to + i * out.stride(0) + first);
    }
  });
}

}  // namespace

void row_products(ConstTensorView x, ConstTensorView table, TensorView out) {
  kernels::require_isa();
  if (x.size(1) == 0) {  // rows of nothing may lie nowhere
    for (std::int64_t i = 0; i < out.size(0); ++i)
      std::fill_n(static_cast<float*>(out.raw()) + i * out.stride(0), out.size(1), 0.0f);
    return;
  }
  if (table.dtype() == DType::f32) return multiply_rows<float>(x, table, out);
  if (table.dtype() == DType::bf16) return multiply_rows<bfloat16>(x, table, out);
  if (table.dtype() == DType::f16) return multiply_rows<float16>(x, table, out);
  refuse("row_products", "table is ", name_of(table.dtype()), ", expected f32, bf16 or f16");
}

}  // namespace attend::detail
