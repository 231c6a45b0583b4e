// One vector for a text, from those of its tokens.
#pragma once

#include <attend/pooling_kind.h>
#include <attend/tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace attend {

std::string_view name_of(Pooling pooling) noexcept;  // "cls", "max", ...
std::optional<Pooling> pooling_named(std::string_view name) noexcept;

// vectors (tokens, E); text s is rows [ends[s], ends[s + 1]). out (texts, E times the number of poolings):
// side by side, in the order in which they are listed. Sums are f64, rounded once. A text without tokens
// gives 0. f32 or f64, the same in and out.
void pool(ConstTensorView vectors, std::span<const std::int64_t> ends, std::span<const Pooling> poolings,
          TensorView out);

// d_vectors (tokens, E) from d_out, the gradient of what pool() gives for the same vectors. Of several equal
// maxima the first gets the gradient. f32 or f64, the same for all.
void pool_backward(ConstTensorView vectors, std::span<const std::int64_t> ends,
                   std::span<const Pooling> poolings, ConstTensorView d_out, TensorView d_vectors);

// Each row of x (rows, E) divided by its Euclidean length; a row of zeros stays zero. out may be x. f32 or
// f64.
void normalize_rows(ConstTensorView x, TensorView out);

}  // namespace attend
