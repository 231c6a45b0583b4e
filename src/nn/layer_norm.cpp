#include "kernels/layer_norm/layer_norm.h"

#include <attend/layer_norm.h>
#include <attend/reference.h>

#include <array>

#include "base/check.h"
#include "kernels/isa.h"
#include "kernels/layer_norm/layer_norm_reference.h"
#include "nn/transform_rows.h"

namespace attend {
namespace {

void normalise_row(const float* x, const float* residual, std::int64_t n, const float* gamma,
                   const float* beta, double epsilon, float* out) noexcept {
  kernels::layer_norm_row(x, residual, n, gamma, beta, static_cast<float>(epsilon), out);
}

void normalise_row(const double* x, const double* residual, std::int64_t n, const double* gamma,
                   const double* beta, double epsilon, double* out) noexcept {
  kernels::layer_norm_row_reference(x, residual, n, gamma, beta, epsilon, out);
}

void check(const char* operation, ConstTensorView x, ConstTensorView gamma, ConstTensorView beta,
           double epsilon, TensorView out) {
  require_floats(operation, {"x", x}, 1, kMaxRank);
  require_shape(operation, {"out", out}, x.shape());
  for (const NamedView& factor : {NamedView{"gamma", gamma}, {"beta", beta}}) {
    if (factor.view.given()) require_shape(operation, factor, {row_size(x)});
  }
  if (!(epsilon >= 0)) refuse(operation, "epsilon is ", epsilon, ", expected 0 or more");
  require_writable_in_place(operation, {"out", out}, {"x", x});
  require_writable(operation, {"out", out}, {{"gamma", gamma}, {"beta", beta}});
}

void check_residual(const char* operation, ConstTensorView x, ConstTensorView residual, TensorView out) {
  require_shape(operation, {"residual", residual}, x.shape());
  require_writable_in_place(operation, {"out", out}, {"residual", residual});
}

// gamma or beta as contiguous numbers of the type that rows are computed in.
template <class Number>
struct Factors {
  explicit Factors(ConstTensorView view) : given(view.given()) {
    if (given) storage = copy_of(view, dtype_of<Number>());
  }
  const Number* data() const { return given ? storage.template values<Number>().data() : nullptr; }
  bool given;
  Tensor storage;
};

void normalise(const char* operation, ConstTensorView x, ConstTensorView residual, ConstTensorView gamma,
               ConstTensorView beta, double epsilon, TensorView out) {
  require_dtype_of(operation, {"out", out}, {"x", x});
  kernels::require_isa();
  const std::int64_t n = row_size(x);
  with_float_type(operation, x.dtype(), [&]<class T>(T) {
    const Factors<Computed<T>> gammas(gamma), betas(beta);
    const auto* const scale = gammas.data();
    const auto* const shift = betas.data();
    if (residual.given()) {
      transform_rows<T>(std::array{x, residual}, out, [&](const auto& from, auto* to) noexcept {
        normalise_row(from[0], from[1], n, scale, shift, epsilon, to);
      });
    } else {
      transform_rows<T>(std::array{x}, out, [&](const auto& from, auto* to) noexcept {
        normalise_row(from[0], nullptr, n, scale, shift, epsilon, to);
      });
    }
  });
}

}  // namespace

void layer_norm(ConstTensorView x, ConstTensorView gamma, ConstTensorView beta, double epsilon,
                TensorView out) {
  constexpr const char* kOperation = "layer_norm";
  check(kOperation, x, gamma, beta, epsilon, out);
  normalise(kOperation, x, {}, gamma, beta, epsilon, out);
}

void add_layer_norm(ConstTensorView x, ConstTensorView residual, ConstTensorView gamma, ConstTensorView beta,
                    double epsilon, TensorView out) {
  constexpr const char* kOperation = "add_layer_norm";
  check(kOperation, x, gamma, beta, epsilon, out);
  check_residual(kOperation, x, residual, out);
  require_dtype_of(kOperation, {"residual", residual}, {"x", x});
  normalise(kOperation, x, residual, gamma, beta, epsilon, out);
}

void reference::layer_norm(ConstTensorView x, ConstTensorView residual, ConstTensorView gamma,
                           ConstTensorView beta, double epsilon, TensorView out) {
  constexpr const char* kOperation = "reference::layer_norm";
  check(kOperation, x, gamma, beta, epsilon, out);
  if (residual.given()) check_residual(kOperation, x, residual, out);
  Tensor wide = copy_of(x, DType::f64);
  const Factors<double> others(residual), scale(gamma), shift(beta);
  const std::int64_t n = row_size(x);
  for (std::int64_t row = 0; n > 0 && row < row_count(x); ++row) {
    double* const values = wide.values<double>().data() + row * n;
    kernels::layer_norm_row_reference(values, residual.given() ? others.data() + row * n : nullptr, n,
                                      scale.data(), shift.data(), epsilon, values);
  }
  copy(wide, out);
}

}  // namespace attend
