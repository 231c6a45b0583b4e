#include <attend/reference.h>
#include <attend/softmax.h>

#include <array>

#include "base/check.h"
#include "kernels/isa.h"
#include "kernels/softmax/softmax.h"
#include "kernels/softmax/softmax_reference.h"
#include "nn/host_operations.h"
#include "nn/transform_rows.h"

namespace attend {
namespace {

void softmax_row(const float* x, std::int64_t n, float* out) noexcept { kernels::softmax_row(x, n, out); }
void softmax_row(const double* x, std::int64_t n, double* out) noexcept {
  kernels::softmax_row_reference(x, n, out);
}

}  // namespace

void softmax(ConstTensorView x, TensorView out) {
  constexpr const char* kOperation = "softmax";
  require_floats(kOperation, {"x", x}, 1, kMaxRank);
  require_shape(kOperation, {"out", out}, x.shape());
  require_dtype_of(kOperation, {"out", out}, {"x", x});
  require_writable_in_place(kOperation, {"out", out}, {"x", x});
  on_device(kOperation, &Operations::softmax, {{"x", x}, {"out", out}})(x, out);
}

void host::softmax(ConstTensorView x, TensorView out) {
  kernels::require_isa();
  with_float_type("softmax", x.dtype(), [&]<class T>(T) {
    transform_rows<T>(std::array{x}, out, [&](const auto& from, auto* to, std::int64_t) noexcept {
      softmax_row(from[0], row_size(x), to);
    });
  });
}

void reference::softmax_backward(ConstTensorView weights, ConstTensorView d_weights, TensorView d_x) {
  constexpr const char* kOperation = "softmax_backward";
  require_floats(kOperation, {"weights", weights}, 1, kMaxRank);
  require_shape(kOperation, {"d_weights", d_weights}, weights.shape());
  require_shape(kOperation, {"d_x", d_x}, weights.shape());
  require_writable_in_place(kOperation, {"d_x", d_x}, {"weights", weights});
  require_writable_in_place(kOperation, {"d_x", d_x}, {"d_weights", d_weights});
  require_host(kOperation, {{"weights", weights}, {"d_weights", d_weights}, {"d_x", d_x}});
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
