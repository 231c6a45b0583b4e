#include <attend/reference.h>
#include <attend/softmax.h>

#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/rows.h"
#include "kernels/softmax/softmax.h"
#include "kernels/softmax/softmax_reference.h"

namespace attend {
namespace {

void softmax_in_place(float* row, std::int64_t n) noexcept { kernels::softmax_row(row, n, row); }
void softmax_in_place(double* row, std::int64_t n) noexcept { kernels::softmax_row_reference(row, n, row); }

// 16-bit types compute in f32, f64 in itself.
template <Element T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <Element T>
void softmax_rows(ConstTensorView x, TensorView out) {
  const T* const source = x.data<T>();
  T* const target = out.data<T>();
  const std::int64_t n = row_size(x), rows = row_count(x);
  if (n == 0) return;
  // A row is brought into contiguous memory, and straight into `out` where that is contiguous and wide.
  const bool direct = std::is_same_v<T, Computed<T>> && (row_stride(out) == 1 || n == 1);
  const RowChunks chunks(rows, n);
  const int lanes = lanes_for(chunks.count());
  std::vector<Computed<T>> scratch(static_cast<std::size_t>(direct ? 0 : n * lanes));
  for_each_row(chunks, lanes, [&](std::int64_t row, int lane) noexcept {
    const T* const from = source + row_offset(x, row);
    T* const to = target + row_offset(out, row);
    if constexpr (std::is_same_v<T, Computed<T>>) {
      if (direct) {
        copy_row(from, row_stride(x), n, to, 1);
        softmax_in_place(to, n);
        return;
      }
    }
    Computed<T>* const values = scratch.data() + lane * n;
    copy_row(from, row_stride(x), n, values, 1);
    softmax_in_place(values, n);
    copy_row(values, 1, n, to, row_stride(out));
  });
}

}  // namespace

void softmax(ConstTensorView x, TensorView out) {
  constexpr const char* kOperation = "softmax";
  require_floats(kOperation, {"x", x}, 1, kMaxRank);
  require_shape(kOperation, {"out", out}, x.shape());
  require_dtype_of(kOperation, {"out", out}, {"x", x});
  require_writable_in_place(kOperation, {"out", out}, {"x", x});
  with_float_type(kOperation, x.dtype(), [&]<class T>(T) { softmax_rows<T>(x, out); });
}

void reference::softmax_backward(ConstTensorView weights, ConstTensorView d_weights, TensorView d_x) {
  constexpr const char* kOperation = "softmax_backward";
  require_floats(kOperation, {"weights", weights}, 1, kMaxRank);
  require_shape(kOperation, {"d_weights", d_weights}, weights.shape());
  require_shape(kOperation, {"d_x", d_x}, weights.shape());
  require_writable_in_place(kOperation, {"d_x", d_x}, {"weights", weights});
  require_writable_in_place(kOperation, {"d_x", d_x}, {"d_weights", d_weights});
  const std::int64_t n = row_size(weights);
  Tensor w(DType::f64, {n}), d(DType::f64, {n});
  for (std::int64_t row = 0; row < row_count(weights); ++row) {
    copy(row_view(weights, row), w);
    copy(row_view(d_weights, row), d);
    double* const values = d.values<double>().data();
    kernels::softmax_row_backward_reference(w.values<double>().data(), values, n, values);
    copy(d, row_view(d_x, row));
  }
}

}  // namespace attend
