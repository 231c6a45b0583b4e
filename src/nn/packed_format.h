// What matrices can be packed as. One more is one more file like packed_f32.cpp, a name in PackedAs and a row
// in packed_format(). The arguments of its functions have been checked.
#pragma once

#include <attend/matmul.h>

#include <cstdint>

#include "base/detail.h"

namespace attend::detail {

struct PackedFormat {
  PackedAs as;
  // Memory for a matrix (k, n): a multiple of 64.
  std::int64_t (*bytes_needed)(std::int64_t k, std::int64_t n);
  // w (k, n) of f32, bf16 or f16, into memory of so many bytes.
  void (*pack)(ConstTensorView w, void* memory);
  // The transpose of a packed (k, n), packed as f32.
  void (*transpose)(const PackedMatrix& w, void* memory);
  // out = activation(a w + bias) + residual, as in matmul().
  void (*multiply)(ConstTensorView a, const PackedMatrix& w, TensorView out, const MatmulEpilogue& epilogue);
};

const PackedFormat& packed_format(PackedAs as);

inline void multiply_packed(ConstTensorView a, const PackedMatrix& w, TensorView out,
                            const MatmulEpilogue& epilogue) {
  packed_format(w.packed_as()).multiply(a, w, out, epilogue);
}

}  // namespace attend::detail
