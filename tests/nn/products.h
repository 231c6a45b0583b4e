// Products as tensors of their own, and what float64 says of them.
#pragma once

#include <attend/matmul.h>
#include <attend/reference.h>

#include <algorithm>
#include <cmath>

#include "support/random.h"

namespace attend {

inline Dims with_columns(ConstTensorView a, std::int64_t n) {
  Dims shape(a.shape());
  shape[a.rank() - 1] = n;
  return shape;
}

inline Tensor product(ConstTensorView a, const PackedMatrix& w, const MatmulEpilogue& epilogue = {}) {
  Tensor out(a.dtype(), with_columns(a, w.columns()));
  matmul(a, w, out, epilogue);
  return out;
}

inline Tensor product(ConstTensorView a, ConstTensorView w, const MatmulEpilogue& epilogue = {}) {
  Tensor out(a.dtype(), with_columns(a, w.size(1)));
  matmul(a, w, out, epilogue);
  return out;
}

inline Tensor reference_product(ConstTensorView a, ConstTensorView w, const MatmulEpilogue& epilogue = {}) {
  Tensor out(DType::f64, with_columns(a, w.size(1)));
  reference::matmul(a, w, out, epilogue);
  return out;
}

// Weights of 1 / sqrt(k), so that results are near 1.
inline Tensor random_weight(const Dims& shape, std::int64_t k, DType dtype, std::uint64_t seed) {
  return random_normal(shape, dtype, seed, 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, k))));
}

}  // namespace attend
