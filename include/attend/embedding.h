// Rows of a table, chosen by number: how tokens and places become vectors.
#pragma once

#include <cstdint>
#include <span>

#include <attend/tensor.h>

namespace attend {

// out[i] = table[ids[i]]; table (n, d), out (ids, d); f32 or f64, any strides. Throws on an id outside the
// table.
void embedding(std::span<const std::int32_t> ids, ConstTensorView table, TensorView out);

// The same, added: out[i] += table[ids[i]].
void add_embedding(std::span<const std::int32_t> ids, ConstTensorView table, TensorView out);

// d_table[ids[i]] += d_out[i], in the order of i, so the bits do not depend on the number of threads. It
// adds, because a table is large and few of its rows take part.
void add_embedding_gradient(std::span<const std::int32_t> ids, ConstTensorView d_out, TensorView d_table);

}  // namespace attend
