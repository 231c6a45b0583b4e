#include "kernels/layer_norm/layer_norm.h"

#include <attend/layer_norm.h>
#include <attend/reference.h>

#include <array>
#include <limits>

#include "base/check.h"
#include "kernels/isa.h"
#include "kernels/layer_norm/layer_norm_reference.h"
#include "nn/host_operations.h"
#include "nn/row_of.h"
#include "nn/transform_rows.h"

namespace attend {
namespace {

kernels::RowMoments<float> normalise_row(const float* x, const float* residual, std::int64_t n,
                                         const float* gamma, const float* beta, double epsilon,
                                         float* out) noexcept {
  return kernels::layer_norm_row(x, residual, n, gamma, beta, static_cast<float>(epsilon), out);
}

kernels::RowMoments<double> normalise_row(const double* x, const double* residual, std::int64_t n,
                                          const double* gamma, const double* beta, double epsilon,
                                          double* out) noexcept {
  return kernels::layer_norm_row_reference(x, residual, n, gamma, beta, epsilon, out);
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

void check_state(const char* operation, ConstTensorView x, std::initializer_list<NamedView> others,
                 const LayerNormStateView& state) {
  const DType dtype = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  for (const NamedView& moment :
       {NamedView{"mean", state.mean}, {"inverse_deviation", state.inverse_deviation}}) {
    if (!moment.view.given()) continue;
    require_shape(operation, moment, x.shape().without(x.rank() - 1));
    if (moment.view.dtype() != dtype) {
      refuse(operation, moment.name, " is ", name_of(moment.view.dtype()), ", expected ", name_of(dtype));
    }
    require_writable(operation, moment, others);
  }
  if (overlaps(state.mean, state.inverse_deviation)) {
    refuse(operation, "inverse_deviation overlaps mean in memory");
  }
}

// Where the moments of each row go: into the views that were given.
template <class Number>
class Moments {
 public:
  explicit Moments(const LayerNormStateView& state)
      : mean_(of_rows(state.mean)), inverse_deviation_(of_rows(state.inverse_deviation)) {}
  void put(std::int64_t row, const kernels::RowMoments<Number>& moments) const noexcept {
    put(mean_, row, moments.mean);
    put(inverse_deviation_, row, moments.inverse_deviation);
  }

 private:
  static TensorView of_rows(const TensorView& view) {
    return view.given() ? view.with_axis(view.rank()) : view;
  }
  static void put(const TensorView& view, std::int64_t row, Number number) noexcept {
    if (view.given()) static_cast<Number*>(view.raw())[row_offset(view, row)] = number;
  }
  TensorView mean_, inverse_deviation_;
};

void normalise(const char* operation, ConstTensorView x, ConstTensorView residual, ConstTensorView gamma,
               ConstTensorView beta, double epsilon, TensorView out, const LayerNormStateView& state) {
  require_dtype_of(operation, {"out", out}, {"x", x});
  check_state(operation, x,
              {{"x", x}, {"residual", residual}, {"gamma", gamma}, {"beta", beta}, {"out", out}}, state);
  on_device(operation, &Operations::layer_norm,
            {{"x", x},
             {"residual", residual},
             {"gamma", gamma},
             {"beta", beta},
             {"out", out},
             {"mean", state.mean},
             {"inverse_deviation", state.inverse_deviation}})(x, residual, gamma, beta, epsilon, out, state);
}

}  // namespace

void host::layer_norm(ConstTensorView x, ConstTensorView residual, ConstTensorView gamma,
                      ConstTensorView beta, double epsilon, TensorView out, const LayerNormStateView& state) {
  kernels::require_isa();
  const std::int64_t n = row_size(x);
  with_float_type("layer_norm", x.dtype(), [&]<class T>(T) {
    const RowOf<Computed<T>> gammas(gamma), betas(beta);
    const auto* const scale = gammas.data();
    const auto* const shift = betas.data();
    const Moments<Computed<T>> moments(state);
    constexpr auto kNone = std::numeric_limits<Computed<T>>::quiet_NaN();
    for (std::int64_t row = 0; n == 0 && row < row_count(x); ++row) moments.put(row, {kNone, kNone});
    if (residual.given()) {
      transform_rows<T>(std::array{x, residual}, out,
                        [&](const auto& from, auto* to, std::int64_t row) noexcept {
                          moments.put(row, normalise_row(from[0], from[1], n, scale, shift, epsilon, to));
                        });
    } else {
      transform_rows<T>(std::array{x}, out, [&](const auto& from, auto* to, std::int64_t row) noexcept {
        moments.put(row, normalise_row(from[0], nullptr, n, scale, shift, epsilon, to));
      });
    }
  });
}

void layer_norm(ConstTensorView x, ConstTensorView gamma, ConstTensorView beta, double epsilon,
                TensorView out, LayerNormStateView state) {
  constexpr const char* kOperation = "layer_norm";
  check(kOperation, x, gamma, beta, epsilon, out);
  normalise(kOperation, x, {}, gamma, beta, epsilon, out, state);
}

void add_layer_norm(ConstTensorView x, ConstTensorView residual, ConstTensorView gamma, ConstTensorView beta,
                    double epsilon, TensorView out, LayerNormStateView state) {
  constexpr const char* kOperation = "add_layer_norm";
  check(kOperation, x, gamma, beta, epsilon, out);
  check_residual(kOperation, x, residual, out);
  require_dtype_of(kOperation, {"residual", residual}, {"x", x});
  normalise(kOperation, x, residual, gamma, beta, epsilon, out, state);
}

void reference::layer_norm(ConstTensorView x, ConstTensorView residual, ConstTensorView gamma,
                           ConstTensorView beta, double epsilon, TensorView out) {
  constexpr const char* kOperation = "reference::layer_norm";
  check(kOperation, x, gamma, beta, epsilon, out);
  if (residual.given()) check_residual(kOperation, x, residual, out);
  require_host(kOperation,
               {{"x", x}, {"residual", residual}, {"gamma", gamma}, {"beta", beta}, {"out", out}});
  Tensor result = copy_of(x, DType::f64);
  const RowOf<double> scale(gamma), shift(beta);
  const Tensor others = residual.given() ? copy_of(residual, DType::f64) : Tensor();
  const std::int64_t n = row_size(x);
  for (std::int64_t row = 0; n > 0 && row < row_count(x); ++row) {
    double* const values = result.values<double>().data() + row * n;
    kernels::layer_norm_row_reference(values,
                                      residual.given() ? others.values<double>().data() + row * n : nullptr,
                                      n, scale.data(), shift.data(), epsilon, values);
  }
  copy(result, out);
}

}  // namespace attend
