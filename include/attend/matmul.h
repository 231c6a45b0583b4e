// The matrix product of layers: weights packed once, and bias, activation and residual fused in.
#pragma once

#include <cstdint>

#include <attend/tensor.h>

namespace attend {

// GELU is x Phi(x), Phi being the normal distribution function: `gelu` by the error function, `gelu_tanh` by
// its approximation with a hyperbolic tangent (Hendrycks and Gimpel 2016), which some models were trained
// with. `relu` is x where that is not negative, else 0; NaN stays NaN.
enum class Activation : std::uint8_t { none, gelu, gelu_tanh, relu };

// What follows the product: out = activation(a w + bias) + residual. A view that is not given adds nothing.
struct MatmulEpilogue {
  ConstTensorView bias{};  // (n); f32, bf16 or f16
  Activation activation = Activation::none;
  ConstTensorView residual{};  // the shape and dtype of out, any strides
};

// A right-hand matrix in the order in which the product reads it, as f32: a copy, so the original may go.
// Moves are cheap. A const one may be used by several threads at once.
class PackedMatrix {
 public:
  PackedMatrix() = default;  // (0, 0)
  // w (k, n): any strides; f32, bf16 or f16. A weight stored as (out, in) is passed as
  // weight.transposed(0, 1).
  explicit PackedMatrix(ConstTensorView w);
  // The same in memory of the caller's, which outlives it: `panels` is contiguous, 64-byte aligned f32 of
  // panels_shape(). The matrices of a model side by side in one tensor get large pages, which those of a few
  // megabytes each do not.
  PackedMatrix(ConstTensorView w, TensorView panels);
  static Dims panels_shape(std::int64_t rows, std::int64_t columns) {
    return {(columns + 15) / 16, rows, 16};
  }

  std::int64_t rows() const noexcept { return rows_; }        // k
  std::int64_t columns() const noexcept { return columns_; }  // n

  // The transpose, (n, k), packed: what a gradient is multiplied by on its way back.
  PackedMatrix transposed() const;

  // The packed copy, for kernels: panels of 16 columns, (n / 16 rounded up, k, 16).
  ConstTensorView panels() const& { return lent_.given() ? lent_ : panels_.view(); }

 private:
  std::int64_t rows_ = 0, columns_ = 0;
  Tensor panels_{DType::f32, {0, 0, 16}};
  ConstTensorView lent_{};
};

// out = activation(a w + bias) + residual: a (..., k) of rank 2 to 4, out (..., n); any strides; f32, bf16 or
// f16, the same for a, out and residual. Sums are f32. out overlaps no input, but may be the residual itself.
// Each row of out has the same bits whatever the other rows and the number of threads.
void matmul(ConstTensorView a, const PackedMatrix& w, TensorView out, const MatmulEpilogue& epilogue = {});

// The same for a matrix that is used once. Here all may be f64, too: that is the reference.
void matmul(ConstTensorView a, ConstTensorView w, TensorView out, const MatmulEpilogue& epilogue = {});

}  // namespace attend
