#include "serve/vectors.h"

#include <attend/pooling.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "serve/refused.h"

namespace attend::serve {

void require_finite(ConstTensorView numbers, std::size_t text, const char* what) {
  const Tensor values = copy_of(numbers);
  if (!std::ranges::all_of(values.values<float>(), [](float value) { return std::isfinite(value); }))
    refuse_with(Fault::internal, "the ", what, " of text ", text, " is not finite; `attend doctor` says why");
}

void require_dimensions(const TextModel& model, std::optional<std::int64_t> dimensions) {
  const std::int64_t size = model.embedding_size();
  if (dimensions && *dimensions > size)
    throw Refused(Fault::invalid,
                  joined("\"dimensions\" is ", *dimensions, ", and the model's vectors have ", size),
                  "dimensions");
}

Tensor text_vectors(const Work& work, bool normalize, std::optional<std::int64_t> dimensions) {
  const auto texts = static_cast<std::int64_t>(work.vectors.size());
  const std::int64_t size = dimensions.value_or(work.vectors.front().size(1));
  Tensor vectors(DType::f32, {texts, size});
  for (std::size_t i = 0; i < work.vectors.size(); ++i) {
    require_finite(work.vectors[i], i);
    std::copy_n(work.vectors[i].values<float>().data(), size,
                vectors.values<float>().data() + static_cast<std::int64_t>(i) * size);
  }
  if (normalize) normalize_rows(vectors, vectors);
  return vectors;
}

}  // namespace attend::serve
