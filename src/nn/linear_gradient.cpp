#include "nn/linear_gradient.h"

#include <attend/matmul.h>
#include <attend/reference.h>

#include <algorithm>

#include "base/check.h"
#include "base/rows.h"
#include "nn/host_operations.h"
#include "nn/linear.h"
#include "nn/packed_bf16.h"
#include "nn/packed_product.h"
#include "nn/row_sums.h"

namespace attend {
namespace {

constexpr const char* kLinearGradient = "add_linear_gradient";

// Rows that are multiplied together: x transposed and d_out packed are (in + out) x 4 KiB then, which stays
// in the outer cache for layers of a few hundred, where all rows of a batch would not.
constexpr std::int64_t kRows = 1024;
constexpr std::int64_t kRoundedRows = 2 * kRows;  // of bf16: as many bytes

// (rows, n) -> (n, rows), side by side. Squares of 16 by 16: a cache line on either side.
void transpose_rows(ConstTensorView x, float* to) {
  constexpr std::int64_t kSquare = 16;
  const std::int64_t rows = x.size(0), n = x.size(1), row_step = x.stride(0), step = x.stride(1);
  const float* const from = x.data<float>();
  parallel_for((n + kSquare - 1) / kSquare, [&](std::int64_t chunk, int) noexcept {
    const std::int64_t first = chunk * kSquare, last = std::min(n, first + kSquare);
    for (std::int64_t r = 0; r < rows; r += kSquare) {
      const std::int64_t end = std::min(rows, r + kSquare);
      for (std::int64_t j = first; j < last; ++j) {
        for (std::int64_t i = r; i < end; ++i) to[j * rows + i] = from[i * row_step + j * step];
      }
    }
  });
}

template <class T>
void add_column_sums(ConstTensorView d_out, TensorView d_bias) {
  const std::int64_t n = d_out.size(1), step = d_out.stride(1);
  const T* const from = d_out.data<T>();
  const std::vector<double> totals =
      sum_rows<T>(d_out.size(0), n, [&](std::int64_t row, T* sums, T*) noexcept {
        const T* const values = from + row * d_out.stride(0);
        for (std::int64_t j = 0; j < n; ++j) sums[j] += values[j * step];
      });
  T* const to = d_bias.data<T>();
  for (std::int64_t j = 0; j < n; ++j) {
    T& sum = to[j * d_bias.stride(0)];
    sum = static_cast<T>(static_cast<double>(sum) + totals[static_cast<std::size_t>(j)]);
  }
}

// (..., n) as (rows, n): the same memory where its rows are evenly spaced, else a copy.
class RowsOf {
 public:
  explicit RowsOf(ConstTensorView x) : view_(x) {
    bool even = true;
    for (int axis = 0; axis + 2 < x.rank(); ++axis) {
      even = even && x.stride(axis) == x.stride(axis + 1) * x.size(axis + 1);
    }
    if (!even) view_ = storage_ = copy_of(x);
    view_ = view_.with_layout({row_count(x), row_size(x)},
                              {view_.stride(x.rank() - 2), view_.stride(x.rank() - 1)});
  }
  ConstTensorView view() const { return view_; }

 private:
  Tensor storage_;
  ConstTensorView view_;
};

std::int64_t packed_floats(std::int64_t rows, std::int64_t columns) {
  return PackedMatrix::bytes_needed(rows, columns) / static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

std::int64_t detail::linear_gradient_room(std::int64_t in, std::int64_t out) {
  return std::max(whole_lines(kRows * in) + packed_floats(kRows, out),
                  bytes_over_rows(kRoundedRows, in, out) / static_cast<std::int64_t>(sizeof(float)));
}

void detail::add_linear_gradient(ConstTensorView x, ConstTensorView d_out, TensorView d_w, TensorView d_bias,
                                 TensorView room, PackedAs as) {
  require_floats(kLinearGradient, {"x", x}, 2, 2);
  require_floats(kLinearGradient, {"d_out", d_out}, 2, 2);
  const std::int64_t rows = x.size(0), in = x.size(1), out = d_out.size(1);
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64) {
    refuse(kLinearGradient, "x is ", name_of(x.dtype()), ", expected f32 or f64");
  }
  require_shape(kLinearGradient, {"d_out", d_out}, {rows, out});
  require_shape(kLinearGradient, {"d_w", d_w}, {in, out});
  require_dtype_of(kLinearGradient, {"d_out", d_out}, {"x", x});
  require_dtype_of(kLinearGradient, {"d_w", d_w}, {"x", x});
  require_writable(kLinearGradient, {"d_w", d_w}, {{"x", x}, {"d_out", d_out}});
  if (d_bias.given()) {
    require_shape(kLinearGradient, {"d_bias", d_bias}, {out});
    require_dtype_of(kLinearGradient, {"d_bias", d_bias}, {"x", x});
    require_writable(kLinearGradient, {"d_bias", d_bias}, {{"x", x}, {"d_out", d_out}, {"d_w", d_w}});
  }
  if (as != PackedAs::f32 && as != PackedAs::bf16)
    refuse(kLinearGradient, "as is ", name_of(as), ", expected f32 or bf16");
  if (rows == 0 || out == 0) return;
  if (in > 0 && x.dtype() == DType::f32 && room.count() < linear_gradient_room(in, out)) {
    refuse(kLinearGradient, "room has ", room.count(), " elements, expected ", linear_gradient_room(in, out));
  }
  on_device(kLinearGradient, &Operations::add_linear_gradient,
            {{"x", x}, {"d_out", d_out}, {"d_w", d_w}, {"d_bias", d_bias}})(x, d_out, d_w, d_bias, room, as);
}

void host::add_linear_gradient(ConstTensorView x, ConstTensorView d_out, TensorView d_w, TensorView d_bias,
                               TensorView room, PackedAs as) {
  const std::int64_t rows = x.size(0), in = x.size(1), out = d_out.size(1);
  if (x.dtype() == DType::f64) {
    if (d_bias.given()) add_column_sums<double>(d_out, d_bias);
    if (in > 0) reference::matmul(x.transposed(0, 1), d_out, d_w, {.residual = d_w});
    return;
  }
  if (d_bias.given()) add_column_sums<float>(d_out, d_bias);
  if (in == 0) return;
  if (as == PackedAs::bf16 && multiplies_bf16_numbers() && x.stride(1) == 1 && d_out.stride(1) == 1) {
    for (std::int64_t first = 0; first < rows; first += kRoundedRows) {
      const std::int64_t last = std::min(rows, first + kRoundedRows);
      add_product_over_rows(x.slice(0, first, last), d_out.slice(0, first, last), d_w, room.raw());
    }
    return;
  }
  float* const transposed = room.data<float>();
  float* const packed_room = transposed + whole_lines(kRows * in);
  for (std::int64_t first = 0; first < rows; first += kRows) {
    const std::int64_t last = std::min(rows, first + kRows), count = last - first;
    transpose_rows(x.slice(0, first, last), transposed);
    const PackedMatrix packed(d_out.slice(0, first, last),
                              TensorView(packed_room, {packed_floats(count, out)}), as);
    matmul(ConstTensorView(transposed, {in, count}), packed, d_w, {.residual = d_w});
  }
}

void detail::linear_gradients(ConstTensorView x, ConstTensorView w, ConstTensorView d_out, TensorView d_x,
                              TensorView d_w, TensorView d_bias) {
  constexpr const char* kBackward = "linear_backward";
  require_floats(kBackward, {"x", x}, 2, kMaxRank);
  require_floats(kBackward, {"w", w}, 2, 2);
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64) {
    refuse(kBackward, "x is ", name_of(x.dtype()), ", expected f32 or f64");
  }
  const std::int64_t in = row_size(x), out = w.size(1);
  require_shape(kBackward, {"w", w}, {in, out});
  Dims out_shape(x.shape());
  out_shape[x.rank() - 1] = out;
  require_shape(kBackward, {"d_out", d_out}, out_shape);
  require_dtype_of(kBackward, {"w", w}, {"x", x});
  require_dtype_of(kBackward, {"d_out", d_out}, {"x", x});
  const NamedView inputs[] = {{"x", x}, {"w", w}, {"d_out", d_out}};
  const auto check = [&](const NamedView& gradient, const Dims& shape) {
    if (!gradient.view.given()) return;
    require_shape(kBackward, gradient, shape);
    require_dtype_of(kBackward, gradient, inputs[0]);
    require_writable(kBackward, gradient, {inputs[0], inputs[1], inputs[2]});
  };
  check({"d_x", d_x}, x.shape());
  check({"d_w", d_w}, {in, out});
  check({"d_bias", d_bias}, {out});

  if (d_x.given()) linear(d_out, w.transposed(0, 1), {}, d_x);
  if (!d_w.given() && !d_bias.given()) return;
  Tensor w_sum(x.dtype(), {in, out}, x.device()), bias_sum(x.dtype(), {out}, x.device()), room;
  if (x.dtype() == DType::f32) room = Tensor(DType::f32, {linear_gradient_room(in, out)}, x.device());
  const RowsOf x_rows(x), d_rows(d_out);
  add_linear_gradient(x_rows.view(), d_rows.view(), w_sum, bias_sum, room);
  if (d_w.given()) copy(w_sum, d_w);
  if (d_bias.given()) copy(bias_sum, d_bias);
}

}  // namespace attend
