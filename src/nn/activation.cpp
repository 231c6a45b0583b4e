#include <attend/gelu.h>
#include <attend/reference.h>
#include <attend/relu.h>

#include <array>

#include "base/check.h"
#include "kernels/gelu/gelu.h"
#include "kernels/gelu/gelu_reference.h"
#include "kernels/isa.h"
#include "nn/host_operations.h"
#include "nn/transform_rows.h"

namespace attend {
namespace {

template <class Number>
void relu_row(const Number* x, std::int64_t n, Number* out) noexcept {
  for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] < 0 ? 0 : x[i];
}

template <class Number>
void relu_row_backward(const Number* x, const Number* d_out, std::int64_t n, Number* d_x) noexcept {
  for (std::int64_t i = 0; i < n; ++i) d_x[i] = x[i] > 0 ? d_out[i] : 0;
}

void activate_row(const float* x, std::int64_t n, Activation form, float* out) noexcept {
  if (form == Activation::relu) return relu_row(x, n, out);
  kernels::gelu_row(x, n, form, out);
}

void activate_row(const double* x, std::int64_t n, Activation form, double* out) noexcept {
  for (std::int64_t i = 0; i < n; ++i) out[i] = kernels::activation_reference(x[i], form);
}

void backward_row(const float* x, const float* d_out, std::int64_t n, Activation form, float* d_x) noexcept {
  if (form == Activation::relu) return relu_row_backward(x, d_out, n, d_x);
  kernels::gelu_row_backward(x, d_out, n, form, d_x);
}

void backward_row(const double* x, const double* d_out, std::int64_t n, Activation form,
                  double* d_x) noexcept {
  if (form == Activation::relu) return relu_row_backward(x, d_out, n, d_x);
  for (std::int64_t i = 0; i < n; ++i) d_x[i] = d_out[i] * kernels::activation_slope_reference(x[i], form);
}

void check(const char* operation, ConstTensorView x, TensorView out) {
  require_floats(operation, {"x", x}, 1, kMaxRank);
  require_shape(operation, {"out", out}, x.shape());
  require_writable_in_place(operation, {"out", out}, {"x", x});
}

void activate(const char* operation, ConstTensorView x, Activation form, TensorView out) {
  check(operation, x, out);
  require_dtype_of(operation, {"out", out}, {"x", x});
  on_device(operation, &Operations::activate, {{"x", x}, {"out", out}})(x, form, out);
}

void activate_reference(const char* operation, ConstTensorView x, Activation form, TensorView out) {
  check(operation, x, out);
  require_host(operation, {{"x", x}, {"out", out}});
  Tensor values = copy_of(x, DType::f64);
  for (double& value : values.values<double>()) value = kernels::activation_reference(value, form);
  copy(values, out);
}

void check_backward(const char* operation, ConstTensorView x, ConstTensorView d_out, TensorView d_x) {
  require_floats(operation, {"x", x}, 1, kMaxRank);
  require_shape(operation, {"d_out", d_out}, x.shape());
  require_shape(operation, {"d_x", d_x}, x.shape());
  require_writable_in_place(operation, {"d_x", d_x}, {"x", x});
  require_writable_in_place(operation, {"d_x", d_x}, {"d_out", d_out});
}

void backward(const char* operation, ConstTensorView x, Activation form, ConstTensorView d_out,
              TensorView d_x) {
  check_backward(operation, x, d_out, d_x);
  require_dtype_of(operation, {"d_out", d_out}, {"x", x});
  require_dtype_of(operation, {"d_x", d_x}, {"x", x});
  on_device(operation, &Operations::activate_backward, {{"x", x}, {"d_out", d_out}, {"d_x", d_x}})(
      x, form, d_out, d_x);
}

void backward_reference(const char* operation, ConstTensorView x, Activation form, ConstTensorView d_out,
                        TensorView d_x) {
  check_backward(operation, x, d_out, d_x);
  require_host(operation, {{"x", x}, {"d_out", d_out}, {"d_x", d_x}});
  const Tensor values = copy_of(x, DType::f64);
  Tensor result = copy_of(d_out, DType::f64);
  double* const data = result.values<double>().data();
  backward_row(values.values<double>().data(), data, result.count(), form, data);
  copy(result, d_x);
}

}  // namespace

void host::activate(ConstTensorView x, Activation form, TensorView out) {
  kernels::require_isa();
  with_float_type("activate", x.dtype(), [&]<class T>(T) {
    transform_rows<T>(std::array{x}, out, [&](const auto& from, auto* to, std::int64_t) noexcept {
      activate_row(from[0], row_size(x), form, to);
    });
  });
}

void host::activate_backward(ConstTensorView x, Activation form, ConstTensorView d_out, TensorView d_x) {
  kernels::require_isa();
  with_float_type("activate_backward", x.dtype(), [&]<class T>(T) {
    transform_rows<T>(std::array{x, d_out}, d_x, [&](const auto& from, auto* to, std::int64_t) noexcept {
      backward_row(from[0], from[1], row_size(x), form, to);
    });
  });
}

void gelu(ConstTensorView x, TensorView out) { activate("gelu", x, Activation::gelu, out); }
void gelu_tanh(ConstTensorView x, TensorView out) { activate("gelu_tanh", x, Activation::gelu_tanh, out); }

void relu(ConstTensorView x, TensorView out) { activate("relu", x, Activation::relu, out); }

void gelu_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x) {
  backward("gelu_backward", x, Activation::gelu, d_out, d_x);
}
void gelu_tanh_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x) {
  backward("gelu_tanh_backward", x, Activation::gelu_tanh, d_out, d_x);
}

void relu_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x) {
  backward("relu_backward", x, Activation::relu, d_out, d_x);
}

void reference::gelu(ConstTensorView x, TensorView out) {
  activate_reference("reference::gelu", x, Activation::gelu, out);
}
void reference::gelu_tanh(ConstTensorView x, TensorView out) {
  activate_reference("reference::gelu_tanh", x, Activation::gelu_tanh, out);
}
void reference::gelu_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x) {
  backward_reference("reference::gelu_backward", x, Activation::gelu, d_out, d_x);
}
void reference::gelu_tanh_backward(ConstTensorView x, ConstTensorView d_out, TensorView d_x) {
  backward_reference("reference::gelu_tanh_backward", x, Activation::gelu_tanh, d_out, d_x);
}

}  // namespace attend
