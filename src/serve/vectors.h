// The vectors of a request, as it wants them.
#pragma once

#include <attend/tensor.h>

#include <cstdint>
#include <optional>

#include "serve/batcher.h"

namespace attend::serve {

// (texts, size): cut to their first `dimensions`, then normalised. Throws Refused for vectors that are not
// finite.
Tensor text_vectors(const Work& work, bool normalize, std::optional<std::int64_t> dimensions);

// Throws Refused for more dimensions than the model's vectors have.
void require_dimensions(const TextModel& model, std::optional<std::int64_t> dimensions);

// JSON has no NaN, and clients no use for it. text: which of the request's, from 0; what: of
// it the numbers are.
void require_finite(ConstTensorView numbers, std::size_t text, const char* what = "vector");

}  // namespace attend::serve
