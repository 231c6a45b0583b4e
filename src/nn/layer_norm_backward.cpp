#include "kernels/layer_norm/layer_norm_backward.h"

#include <attend/layer_norm.h>
#include <attend/reference.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/scratch.h"
#include "kernels/isa.h"
#include "kernels/layer_norm/layer_norm_reference.h"
#include "nn/host_operations.h"
#include "nn/row_sums.h"
#include "nn/transform_rows.h"

namespace attend {
namespace {

void layer_norm_backward_row(const float* x, const float* d_out, const float* residual, std::int64_t n,
                             const float* gamma, double epsilon, float* d_x) noexcept {
  kernels::layer_norm_row_backward(x, d_out, residual, n, gamma, static_cast<float>(epsilon), d_x);
}
void layer_norm_backward_row(const double* x, const double* d_out, const double* residual, std::int64_t n,
                             const double* gamma, double epsilon, double* d_x) noexcept {
  kernels::layer_norm_row_backward_reference(x, d_out, residual, n, gamma, epsilon, d_x);
}

void add_factors(const float* x, const float* d_out, std::int64_t n, double epsilon, float* d_gamma,
                 float* d_beta) noexcept {
  kernels::add_layer_norm_factors(x, d_out, n, static_cast<float>(epsilon), d_gamma, d_beta);
}
void add_factors(const double* x, const double* d_out, std::int64_t n, double epsilon, double* d_gamma,
                 double* d_beta) noexcept {
  kernels::add_layer_norm_factors_reference(x, d_out, n, epsilon, d_gamma, d_beta);
}

void check(const char* operation, ConstTensorView x, ConstTensorView gamma, double epsilon,
           ConstTensorView d_out, const LayerNormGradients& gradients, ConstTensorView residual) {
  require_floats(operation, {"x", x}, 1, kMaxRank);
  require_shape(operation, {"d_out", d_out}, x.shape());
  if (gamma.given()) require_shape(operation, {"gamma", gamma}, {row_size(x)});
  if (!(epsilon >= 0)) refuse(operation, "epsilon is ", epsilon, ", expected 0 or more");
  if (residual.given()) require_shape(operation, {"residual", residual}, x.shape());
  if (gradients.x.given()) {
    const NamedView d_x{"d_x", gradients.x};
    require_shape(operation, d_x, x.shape());
    require_writable_in_place(operation, d_x, {"x", x});
    require_writable_in_place(operation, d_x, {"d_out", d_out});
    if (residual.given()) require_writable_in_place(operation, d_x, {"residual", residual});
    require_writable(operation, d_x, {{"gamma", gamma}});
  }
  const NamedView d_gamma{"d_gamma", gradients.gamma}, d_beta{"d_beta", gradients.beta};
  for (const NamedView& factor : {d_gamma, d_beta}) {
    if (!factor.view.given()) continue;
    require_shape(operation, factor, {row_size(x)});
    require_writable(
        operation, factor,
        {{"x", x}, {"gamma", gamma}, {"d_out", d_out}, {"residual", residual}, {"d_x", gradients.x}});
  }
  if (overlaps(gradients.gamma, gradients.beta)) refuse(operation, "d_beta overlaps d_gamma in memory");
}

// Row number `row` as contiguous numbers: where it lies, or in `room`.
template <Element T>
const Computed<T>* row_of(ConstTensorView view, std::int64_t row, Computed<T>* room) noexcept {
  const T* const source = static_cast<const T*>(view.raw()) + row_offset(view, row);
  if constexpr (std::is_same_v<T, Computed<T>>) {
    if (row_stride(view) == 1) return source;
  }
  copy_row(source, row_stride(view), row_size(view), room, 1);
  return room;
}

template <Element T>
void sum_factors(ConstTensorView x, double epsilon, ConstTensorView d_out, TensorView d_gamma,
                 TensorView d_beta) {
  using Number = Computed<T>;
  const std::int64_t n = row_size(x), rows = row_count(x);
  if (n == 0) return;
  const std::int64_t parts = (rows + kRowsOfASum - 1) / kRowsOfASum;
  Tensor gammas(dtype_of<Number>(), {d_gamma.given() ? parts : 0, n}),
      betas(dtype_of<Number>(), {d_beta.given() ? parts : 0, n});
  const int lanes = lanes_for(parts);
  const LaneScratch<Number> scratch(lanes, 2 * n);
  Number* const gamma_sums = d_gamma.given() ? gammas.values<Number>().data() : nullptr;
  Number* const beta_sums = d_beta.given() ? betas.values<Number>().data() : nullptr;
  parallel_for(parts, lanes, [&](std::int64_t part, int lane) noexcept {
    Number* const room = scratch.of(lane);
    const std::int64_t end = std::min(rows, (part + 1) * kRowsOfASum);
    for (std::int64_t row = part * kRowsOfASum; row < end; ++row) {
      add_factors(row_of<T>(x, row, room), row_of<T>(d_out, row, room + n), n, epsilon,
                  gamma_sums != nullptr ? gamma_sums + part * n : nullptr,
                  beta_sums != nullptr ? beta_sums + part * n : nullptr);
    }
  });
  const auto add_up = [&](const Tensor& sums, TensorView to) {
    if (!to.given()) return;
    Tensor total(DType::f64, {n});
    const auto from = sums.values<Number>();
    for (std::size_t i = 0; i < from.size(); ++i)
      total.values<double>()[i % static_cast<std::size_t>(n)] += static_cast<double>(from[i]);
    copy(total, to);
  };
  add_up(gammas, d_gamma);
  add_up(betas, d_beta);
}

// d_x comes last, for it may lie where an input does.
template <Element T>
void backward(ConstTensorView x, ConstTensorView gamma, double epsilon, ConstTensorView d_out,
              const LayerNormGradients& gradients, ConstTensorView residual) {
  if (gradients.gamma.given() || gradients.beta.given())
    sum_factors<T>(x, epsilon, d_out, gradients.gamma, gradients.beta);
  if (!gradients.x.given()) return;
  const std::int64_t n = row_size(x);
  Tensor factors;
  if (gamma.given()) factors = copy_of(gamma, dtype_of<Computed<T>>());
  const Computed<T>* const scale = gamma.given() ? factors.values<Computed<T>>().data() : nullptr;
  if (residual.given()) {
    transform_rows<T>(std::array{x, d_out, residual}, gradients.x,
                      [&](const auto& from, auto* to, std::int64_t) noexcept {
                        layer_norm_backward_row(from[0], from[1], from[2], n, scale, epsilon, to);
                      });
  } else {
    transform_rows<T>(std::array{x, d_out}, gradients.x,
                      [&](const auto& from, auto* to, std::int64_t) noexcept {
                        layer_norm_backward_row(from[0], from[1], nullptr, n, scale, epsilon, to);
                      });
  }
}

}  // namespace

void layer_norm_backward(ConstTensorView x, ConstTensorView gamma, double epsilon, ConstTensorView d_out,
                         const LayerNormGradients& gradients, ConstTensorView residual) {
  constexpr const char* kOperation = "layer_norm_backward";
  check(kOperation, x, gamma, epsilon, d_out, gradients, residual);
  require_dtype_of(kOperation, {"d_out", d_out}, {"x", x});
  if (residual.given()) require_dtype_of(kOperation, {"residual", residual}, {"x", x});
  if (gradients.x.given()) require_dtype_of(kOperation, {"d_x", gradients.x}, {"x", x});
  on_device(kOperation, &Operations::layer_norm_backward,
            {{"x", x},
             {"gamma", gamma},
             {"d_out", d_out},
             {"residual", residual},
             {"d_x", gradients.x},
             {"d_gamma", gradients.gamma},
             {"d_beta", gradients.beta}})(x, gamma, epsilon, d_out, gradients, residual);
}

void host::layer_norm_backward(ConstTensorView x, ConstTensorView gamma, double epsilon,
                               ConstTensorView d_out, const LayerNormGradients& gradients,
                               ConstTensorView residual) {
  kernels::require_isa();
  with_float_type("layer_norm_backward", x.dtype(),
                  [&]<class T>(T) { backward<T>(x, gamma, epsilon, d_out, gradients, residual); });
}

void reference::layer_norm_backward(ConstTensorView x, ConstTensorView gamma, double epsilon,
                                    ConstTensorView d_out, const LayerNormGradients& gradients,
                                    ConstTensorView residual) {
  constexpr const char* kOperation = "reference::layer_norm_backward";
  check(kOperation, x, gamma, epsilon, d_out, gradients, residual);
  require_host(kOperation, {{"x", x},
                            {"gamma", gamma},
                            {"d_out", d_out},
                            {"residual", residual},
                            {"d_x", gradients.x},
                            {"d_gamma", gradients.gamma},
                            {"d_beta", gradients.beta}});
  const auto as_f64 = [](ConstTensorView view) {
    return view.given() ? copy_of(view, DType::f64) : Tensor();
  };
  const Tensor x64 = as_f64(x), d_out64 = as_f64(d_out), residual64 = as_f64(residual);
  Tensor d_x(DType::f64, x.shape());
  backward<double>(x64, gamma, epsilon, d_out64,
                   {.x = gradients.x.given() ? d_x.view() : TensorView(),
                    .gamma = gradients.gamma,
                    .beta = gradients.beta},
                   residual.given() ? residual64.view() : ConstTensorView());
  if (gradients.x.given()) copy(d_x, gradients.x);
}

}  // namespace attend
