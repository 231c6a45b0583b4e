#include "nn/linear.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/parallel.h"
#include "base/rows.h"
#include "kernels/matmul/matmul_reference.h"
#include "nn/host_operations.h"
#include "nn/packed_format.h"

namespace attend {
namespace {

// Enough rows for a thread's claim, few enough to keep all threads busy.
constexpr std::int64_t kRowBlock = 64;

kernels::MatrixStrides strides_of(ConstTensorView matrix) {
  const int rank = matrix.rank();
  return {matrix.stride(rank - 2), matrix.stride(rank - 1)};
}

// The float64 reference, block of rows by block of rows.
void multiply_reference(ConstTensorView x, ConstTensorView w, const double* bias, TensorView out) {
  const std::int64_t rows = x.size(x.rank() - 2), matrices = row_count(x) / rows;
  const std::int64_t blocks = (rows + kRowBlock - 1) / kRowBlock;
  const double* const x_data = x.data<double>();
  const double* const w_data = w.data<double>();
  double* const out_data = out.data<double>();
  parallel_for(matrices * blocks, [&](std::int64_t chunk, int) noexcept {
    const std::int64_t first = chunk % blocks * kRowBlock, row = chunk / blocks * rows + first;
    kernels::matmul_reference(std::min(kRowBlock, rows - first), w.size(1), w.size(0),
                              x_data + row_offset(x, row), strides_of(x), w_data, strides_of(w), bias,
                              out_data + row_offset(out, row), strides_of(out));
  });
}

// x with its last axis of another size.
Dims with_row_size(ConstTensorView x, std::int64_t size) {
  Dims shape(x.shape());
  shape[x.rank() - 1] = size;
  return shape;
}

// A row-major float64 copy as one matrix.
struct Matrix {
  explicit Matrix(ConstTensorView view) : storage(copy_of(view, DType::f64)), rows(row_count(view)) {}
  const double* data() const { return storage.view().data<double>(); }
  kernels::MatrixStrides strides() const { return {row_size(storage), 1}; }
  Tensor storage;
  std::int64_t rows;
};

}  // namespace

void detail::linear(ConstTensorView x, ConstTensorView w, ConstTensorView bias, TensorView out) {
  constexpr const char* kOperation = "linear";
  require_floats(kOperation, {"x", x}, 2, kMaxRank);
  require_floats(kOperation, {"w", w}, 2, 2);
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64) {
    refuse(kOperation, "x is ", name_of(x.dtype()), ", expected f32 or f64");
  }
  if (w.size(0) != row_size(x)) {
    refuse(kOperation, "x has shape ", to_string(x.shape()), ", which does not match w of shape ",
           to_string(w.shape()));
  }
  require_shape(kOperation, {"out", out}, with_row_size(x, w.size(1)));
  require_dtype_of(kOperation, {"w", w}, {"x", x});
  require_dtype_of(kOperation, {"out", out}, {"x", x});
  if (bias.given()) {
    require_shape(kOperation, {"bias", bias}, {w.size(1)});
    require_dtype_of(kOperation, {"bias", bias}, {"x", x});
  }
  require_writable(kOperation, {"out", out}, {{"x", x}, {"w", w}, {"bias", bias}});
  on_device(kOperation, &Operations::linear, {{"x", x}, {"w", w}, {"bias", bias}, {"out", out}})(x, w, bias,
                                                                                                 out);
}

void host::linear(ConstTensorView x, ConstTensorView w, ConstTensorView bias, TensorView out) {
  if (out.count() == 0) return;
  if (x.dtype() == DType::f32) {
    multiply_packed(x, PackedMatrix(w), out, {.bias = bias});
    return;
  }
  std::optional<Tensor> contiguous_bias;
  if (bias.given()) contiguous_bias = copy_of(bias);
  multiply_reference(x, w, contiguous_bias ? contiguous_bias->values<double>().data() : nullptr, out);
}

void detail::linear_backward(ConstTensorView x, ConstTensorView w, ConstTensorView d_out, TensorView d_x,
                             TensorView d_w, TensorView d_bias) {
  constexpr const char* kOperation = "linear_backward";
  require_floats(kOperation, {"d_out", d_out}, 2, kMaxRank);
  require_host(kOperation,
               {{"x", x}, {"w", w}, {"d_out", d_out}, {"d_x", d_x}, {"d_w", d_w}, {"d_bias", d_bias}});
  const Matrix d(d_out);
  const std::int64_t columns = row_size(d_out);
  if (d_x.given()) {
    require_floats(kOperation, {"w", w}, 2, 2);
    require_shape(kOperation, {"w", w}, {w.size(0), columns});
    require_shape(kOperation, {"d_x", d_x}, with_row_size(d_out, w.size(0)));
    require_writable(kOperation, {"d_x", d_x}, {{"x", x}, {"w", w}, {"d_out", d_out}});
  }
  if (d_w.given()) {
    require_floats(kOperation, {"x", x}, 2, kMaxRank);
    require_shape(kOperation, {"x", x}, with_row_size(d_out, row_size(x)));
    require_shape(kOperation, {"d_w", d_w}, {row_size(x), columns});
    require_writable(kOperation, {"d_w", d_w}, {{"x", x}, {"w", w}, {"d_out", d_out}, {"d_x", d_x}});
  }
  if (d_bias.given()) {
    require_shape(kOperation, {"d_bias", d_bias}, {columns});
    require_writable(kOperation, {"d_bias", d_bias}, {{"d_out", d_out}, {"d_x", d_x}, {"d_w", d_w}});
  }

  if (d_x.given()) {
    const Matrix weight(w);
    Tensor result(DType::f64, d_x.shape());
    kernels::matmul_reference(d.rows, weight.rows, columns, d.data(), d.strides(), weight.data(),
                              weight.strides().transposed(), nullptr, result.view().data<double>(),
                              {weight.rows, 1});
    copy(result, d_x);
  }
  if (d_w.given()) {
    const Matrix input(x);
    Tensor result(DType::f64, d_w.shape());
    kernels::matmul_reference(row_size(x), columns, d.rows, input.data(), input.strides().transposed(),
                              d.data(), d.strides(), nullptr, result.view().data<double>(), {columns, 1});
    copy(result, d_w);
  }
  if (d_bias.given()) {
    Tensor result(DType::f64, {columns});
    for (std::int64_t row = 0; row < d.rows; ++row) {
      for (std::int64_t j = 0; j < columns; ++j) {
        result.view().data<double>()[j] += d.data()[row * columns + j];
      }
    }
    copy(result, d_bias);
  }
}

}  // namespace attend
