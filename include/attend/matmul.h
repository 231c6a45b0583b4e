// The matrix product of layers: weights packed once, and bias, activation and residual fused in.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <attend/activation.h>
#include <attend/blocks.h>
#include <attend/precision.h>
#include <attend/tensor.h>

namespace attend {

// What follows the product: out = activation(a w + bias) + residual. A view that is not given adds nothing.
struct MatmulEpilogue {
  ConstTensorView bias{};  // (n); f32, bf16 or f16
  Activation activation = Activation::none;
  ConstTensorView residual{};  // the shape of out, any strides
};

// How a packed matrix holds its numbers, and so in which it is multiplied: docs/precision.md.
enum class PackedAs : std::uint8_t { f32, bf16, int8, blocks };
std::string_view name_of(PackedAs as) noexcept;
PackedAs packed_as(Precision precision) noexcept;  // what computes in it

// A right-hand matrix, copied once into the order in which the product reads it, so the original may go. The
// order and the number type are internal to the library. Moves are cheap. A const one may be used by several
// threads at once.
class PackedMatrix {
 public:
  PackedMatrix() = default;  // (0, 0)
  // w (k, n): any strides; f32, bf16 or f16. A weight stored as (out, in) is passed as
  // weight.transposed(0, 1).
  explicit PackedMatrix(ConstTensorView w, PackedAs as = PackedAs::f32);
  // The same in memory that the caller owns and that outlives it: on the device of w, contiguous, 64-byte
  // aligned, of bytes_needed() or more; its type does not matter. The matrices of a model side by side in one
  // tensor get large pages, which those of a few megabytes each do not.
  PackedMatrix(ConstTensorView w, TensorView memory, PackedAs as = PackedAs::f32);
  // The matrix whose columns are the rows of these parts, one part after another, in their own blocks
  // (PackedAs::blocks). All parts have the same number of columns, and all but the last a number of rows that
  // is a multiple of 16. memory: as above, of bytes_needed(parts); not given: its own.
  explicit PackedMatrix(std::span<const BlockView> parts, TensorView memory = {});
  static std::int64_t bytes_needed(std::span<const BlockView> parts);
  // A multiple of 64, so that a matrix that follows another is aligned, too.
  static std::int64_t bytes_needed(std::int64_t rows, std::int64_t columns, Device device = {},
                                   PackedAs as = PackedAs::f32);

  std::int64_t rows() const noexcept { return rows_; }        // k
  std::int64_t columns() const noexcept { return columns_; }  // n
  PackedAs packed_as() const noexcept { return as_; }
  // Whether the product rounds its rows to bf16 first: rows that were rounded before then give the same bits.
  bool rounds_rows() const;
  Device device() const noexcept { return lent_.given() ? lent_.device() : owned_.device(); }

  // The transpose, (n, k), of its numbers as they are held, packed as f32: what a gradient is multiplied by
  // in a backward pass.
  PackedMatrix transposed() const;

  // The packed numbers as plain memory, for code that knows their order.
  ConstTensorView memory() const& { return lent_.given() ? lent_ : owned_.view(); }
  ConstTensorView memory() const&& = delete;

 private:
  std::int64_t rows_ = 0, columns_ = 0;
  PackedAs as_ = PackedAs::f32;
  Tensor owned_;
  ConstTensorView lent_{};
};

// out = activation(a w + bias) + residual: a (..., k) of rank 2 to 4, out (..., n); any strides; f32, bf16 or
// f16, each of its own. Sums are f32 whatever w is held as; out is rounded once, at the end. out overlaps no
// input, but may be the residual itself. Each row of out has the same bits whatever the other rows and the
// number of threads.
void matmul(ConstTensorView a, const PackedMatrix& w, TensorView out, const MatmulEpilogue& epilogue = {});

// The same for a matrix that is used once. Here all of them may be f64, too: that is the reference.
void matmul(ConstTensorView a, ConstTensorView w, TensorView out, const MatmulEpilogue& epilogue = {});

}  // namespace attend
