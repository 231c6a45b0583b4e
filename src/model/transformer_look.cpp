// Single parts of a transformer, for callers that inspect what each did.
#include <attend/transformer.h>

#include "base/check.h"
#include "base/counting.h"
#include "model/layer_math.h"
#include "model/transformer_parts.h"

namespace attend {

Tensor Transformer::word_rows(std::span<const std::int32_t> ids) const {
  const ModelDescription& model = description();
  const auto count = static_cast<std::int64_t>(ids.size());
  Tensor rows(DType::f32, {count, model.table_size()});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t id = ids[static_cast<std::size_t>(i)];
    if (id < 0 || id >= model.vocabulary_size)
      refuse("word_rows", "id is ", id, ", expected 0 to ", model.vocabulary_size - 1);
    copy(parts_->weights.words.read(id, id + 1, DType::f32), rows.view().slice(0, i, i + 1));
  }
  return rows;
}

void Transformer::apply_final_norm(ConstTensorView hidden, TensorView out) const {
  const ModelDescription& model = description();
  const Dims shape{hidden.size(0), model.hidden_size};
  require_shape("apply_final_norm", {"hidden", hidden}, shape);
  require_shape("apply_final_norm", {"out", out}, shape);
  if (model.final_norm) return normalise(*model.final_norm, parts_->weights.final_norm.view(), hidden, out);
  if (hidden.raw() != out.raw()) copy(hidden, out);
}

void Transformer::project_head(std::int64_t layer, std::int64_t head, ConstTensorView values,
                               TensorView out) const {
  const ModelDescription& model = description();
  require_number("project_head", "layer", layer, model.layer_count());
  const AttentionDescription& attention = model.layer(layer).attention;
  require_number("project_head", "head", head, attention.heads);
  const std::int64_t size = attention.head_size;
  if (values.rank() != 2 || values.size(1) != size)
    refuse("project_head", "values have the shape ", to_string(values.shape()), ", expected (rows, ", size,
           ")");
  // The packed matrix has all heads; the other heads get zeros.
  Tensor all_heads(DType::f32, {values.size(0), attention.heads * size});
  copy(values, all_heads.view().slice(1, (head - 1) * size, head * size));
  matmul(all_heads, parts_->weights.stored(layer - 1).out.matrix, out);
}

}  // namespace attend
