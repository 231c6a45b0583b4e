// Parts of an encoder by themselves, for those who want to know what they did.
#include <attend/encoder.h>

#include "base/error.h"
#include "model/weights.h"

namespace attend {

Tensor Encoder::word_rows(std::span<const std::int32_t> ids) const {
  const auto count = static_cast<std::int64_t>(ids.size());
  Tensor rows(DType::f32, {count, config_.hidden_size});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t id = ids[static_cast<std::size_t>(i)];
    if (id < 0 || id >= config_.vocabulary_size)
      refuse("word_rows", "id ", id, " is none of the ", config_.vocabulary_size, " of the model");
    copy(weights_->words.slice(0, id, id + 1), rows.view().slice(0, i, i + 1));
  }
  return rows;
}

void Encoder::project_head(std::int64_t layer, std::int64_t head, ConstTensorView values,
                           TensorView out) const {
  if (layer < 1 || layer > config_.layers)
    refuse("project_head", "layer is ", layer, ", expected 1 to ", config_.layers);
  if (head < 0 || head >= config_.heads)
    refuse("project_head", "head is ", head, ", expected 0 to ", config_.heads - 1);
  const std::int64_t size = config_.hidden_size / config_.heads;
  if (values.rank() != 2 || values.size(1) != size)
    refuse("project_head", "values have the shape ", to_string(values.shape()), ", expected (rows, ", size,
           ")");
  // The packed matrix has all heads; those that are not meant get zeros.
  Tensor wide(DType::f32, {values.size(0), config_.hidden_size});
  copy(values, wide.view().slice(1, head * size, (head + 1) * size));
  matmul(wide, weights_->layers[static_cast<std::size_t>(layer) - 1].out.matrix, out);
}

}  // namespace attend
