#include "model/embeddings.h"

#include <attend/positions.h>

#include <algorithm>

#include "base/rows.h"

namespace attend {
namespace {

template <class T>
void add_row(const T* from, std::int64_t n, float* to) noexcept {
  for (std::int64_t j = 0; j < n; ++j) to[j] += static_cast<float>(widen(from[j]));
}

void add_row(ConstTensorView table, std::int64_t row, float* to) noexcept {
  const std::int64_t n = table.size(1);
  const auto at = [&]<class T>(const T*) {
    return static_cast<const T*>(table.raw()) + row * table.stride(0);
  };
  switch (table.dtype()) {
    case DType::f32:
      return add_row(at(static_cast<const float*>(nullptr)), n, to);
    case DType::f64:
      return add_row(at(static_cast<const double*>(nullptr)), n, to);
    case DType::bf16:
      return add_row(at(static_cast<const bfloat16*>(nullptr)), n, to);
    case DType::f16:
      return add_row(at(static_cast<const float16*>(nullptr)), n, to);
    default:
      return;
  }
}

}  // namespace

Tensor computed_positions(std::span<const std::int64_t> places, const ModelConfig& config) {
  if (config.position_kind != PositionKind::sinusoidal || places.empty()) return {};
  Tensor table(DType::f32, {*std::max_element(places.begin(), places.end()) + 1, config.hidden_size});
  sinusoidal_positions(table);
  return table;
}

void embed_tokens(const TokenBatch& batch, std::span<const std::int64_t> places, const ModelConfig& config,
                  ConstTensorView words, ConstTensorView types, ConstTensorView positions, TensorView out) {
  float* const data = out.data<float>();
  for_each_row(batch.tokens(), config.hidden_size, [&](std::int64_t row, int) noexcept {
    const auto i = static_cast<std::size_t>(row);
    float* const to = data + row * out.stride(0);
    std::fill(to, to + config.hidden_size, 0.0F);
    add_row(words, batch.ids[i], to);
    if (types.given()) add_row(types, batch.types.empty() ? 0 : batch.types[i], to);
    if (positions.given()) add_row(positions, places[i] + config.first_position, to);
  });
}

}  // namespace attend
