#include <attend/rms_norm.h>

#include <array>

#include "base/check.h"
#include "kernels/isa.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rms_norm/rms_norm_reference.h"
#include "nn/host_operations.h"
#include "nn/row_of.h"
#include "nn/row_sums.h"
#include "nn/transform_rows.h"

namespace attend {
namespace {

void normalise_row(const float* x, std::int64_t n, const float* gamma, double epsilon, float* out) noexcept {
  kernels::rms_norm_row(x, n, gamma, static_cast<float>(epsilon), out);
}
void normalise_row(const double* x, std::int64_t n, const double* gamma, double epsilon,
                   double* out) noexcept {
  kernels::rms_norm_row_reference(x, n, gamma, epsilon, out);
}

void rms_backward_row(const float* x, const float* d_out, const float* residual, std::int64_t n,
                      const float* gamma, double epsilon, float* d_x) noexcept {
  kernels::rms_norm_row_backward(x, d_out, residual, n, gamma, static_cast<float>(epsilon), d_x);
}
void rms_backward_row(const double* x, const double* d_out, const double* residual, std::int64_t n,
                      const double* gamma, double epsilon, double* d_x) noexcept {
  kernels::rms_norm_row_backward_reference(x, d_out, residual, n, gamma, epsilon, d_x);
}

void add_factors(const float* x, const float* d_out, std::int64_t n, double epsilon,
                 float* d_gamma) noexcept {
  kernels::add_rms_norm_factors(x, d_out, n, static_cast<float>(epsilon), d_gamma);
}
void add_factors(const double* x, const double* d_out, std::int64_t n, double epsilon,
                 double* d_gamma) noexcept {
  kernels::add_rms_norm_factors_reference(x, d_out, n, epsilon, d_gamma);
}

void check_factors(const char* operation, ConstTensorView x, ConstTensorView gamma, double epsilon) {
  require_floats(operation, {"x", x}, 1, kMaxRank);
  if (gamma.given()) require_shape(operation, {"gamma", gamma}, {row_size(x)});
  if (!(epsilon >= 0)) refuse(operation, "epsilon is ", epsilon, ", expected 0 or more");
}

void check_like_x(const char* operation, const NamedView& tensor, ConstTensorView x) {
  require_shape(operation, tensor, x.shape());
  require_dtype_of(operation, tensor, {"x", x});
}

template <Element T>
void sum_gamma(ConstTensorView x, double epsilon, ConstTensorView d_out, TensorView d_gamma) {
  using Number = Computed<T>;
  const std::int64_t n = row_size(x);
  const auto row_of = [n](ConstTensorView view, std::int64_t row, Number* room) noexcept {
    copy_row(static_cast<const T*>(view.raw()) + row_offset(view, row), row_stride(view), n, room, 1);
    return room;
  };
  const std::vector<double> totals =
      sum_rows<Number>(row_count(x), n, [&](std::int64_t row, Number* sums, Number* room) noexcept {
        add_factors(row_of(x, row, room), row_of(d_out, row, room + n), n, epsilon, sums);
      });
  copy(ConstTensorView(totals.data(), {n}), d_gamma);
}

}  // namespace

void rms_norm(ConstTensorView x, ConstTensorView gamma, double epsilon, TensorView out) {
  constexpr const char* kOperation = "rms_norm";
  check_factors(kOperation, x, gamma, epsilon);
  check_like_x(kOperation, {"out", out}, x);
  require_writable_in_place(kOperation, {"out", out}, {"x", x});
  require_writable(kOperation, {"out", out}, {{"gamma", gamma}});
  on_device(kOperation, &Operations::rms_norm, {{"x", x}, {"gamma", gamma}, {"out", out}})(x, gamma, epsilon,
                                                                                           out);
}

void host::rms_norm(ConstTensorView x, ConstTensorView gamma, double epsilon, TensorView out) {
  kernels::require_isa();
  with_float_type("rms_norm", x.dtype(), [&]<class T>(T) {
    const RowOf<Computed<T>> factors(gamma);
    const auto* const scale = factors.data();
    transform_rows<T>(std::array{x}, out, [&](const auto& from, auto* to, std::int64_t) noexcept {
      normalise_row(from[0], row_size(x), scale, epsilon, to);
    });
  });
}

void rms_norm_backward(ConstTensorView x, ConstTensorView gamma, double epsilon, ConstTensorView d_out,
                       const RmsNormGradients& gradients, ConstTensorView residual) {
  constexpr const char* kOperation = "rms_norm_backward";
  check_factors(kOperation, x, gamma, epsilon);
  check_like_x(kOperation, {"d_out", d_out}, x);
  if (residual.given()) check_like_x(kOperation, {"residual", residual}, x);
  if (gradients.gamma.given()) {
    const NamedView d_gamma{"d_gamma", gradients.gamma};
    require_shape(kOperation, d_gamma, {row_size(x)});
    require_writable(
        kOperation, d_gamma,
        {{"x", x}, {"gamma", gamma}, {"d_out", d_out}, {"residual", residual}, {"d_x", gradients.x}});
  }
  if (gradients.x.given()) {
    const NamedView d_x{"d_x", gradients.x};
    check_like_x(kOperation, d_x, x);
    require_writable_in_place(kOperation, d_x, {"x", x});
    require_writable_in_place(kOperation, d_x, {"d_out", d_out});
    if (residual.given()) require_writable_in_place(kOperation, d_x, {"residual", residual});
    require_writable(kOperation, d_x, {{"gamma", gamma}});
  }
  on_device(kOperation, &Operations::rms_norm_backward,
            {{"x", x},
             {"gamma", gamma},
             {"d_out", d_out},
             {"residual", residual},
             {"d_x", gradients.x},
             {"d_gamma", gradients.gamma}})(x, gamma, epsilon, d_out, gradients, residual);
}

void host::rms_norm_backward(ConstTensorView x, ConstTensorView gamma, double epsilon, ConstTensorView d_out,
                             const RmsNormGradients& gradients, ConstTensorView residual) {
  kernels::require_isa();
  // d_x comes last, for it may lie where an input does.
  with_float_type("rms_norm_backward", x.dtype(), [&]<class T>(T) {
    if (gradients.gamma.given()) sum_gamma<T>(x, epsilon, d_out, gradients.gamma);
    if (!gradients.x.given()) return;
    const RowOf<Computed<T>> factors(gamma);
    const auto* const scale = factors.data();
    const std::int64_t n = row_size(x);
    if (residual.given()) {
      transform_rows<T>(std::array{x, d_out, residual}, gradients.x,
                        [&](const auto& from, auto* to, std::int64_t) noexcept {
                          rms_backward_row(from[0], from[1], from[2], n, scale, epsilon, to);
                        });
    } else {
      transform_rows<T>(std::array{x, d_out}, gradients.x,
                        [&](const auto& from, auto* to, std::int64_t) noexcept {
                          rms_backward_row(from[0], from[1], nullptr, n, scale, epsilon, to);
                        });
    }
  });
}

}  // namespace attend
