#include "train/layers.h"

#include <attend/layer_norm.h>
#include <attend/rms_norm.h>

#include <algorithm>

#include "base/rows.h"
#include "nn/linear_gradient.h"

namespace attend::train {
namespace {

template <class T>
void add_rows(ConstTensorView a, ConstTensorView b, TensorView out) {
  const std::int64_t n = out.size(1);
  const T* const left = a.data<T>();
  const T* const right = b.data<T>();
  T* const to = out.data<T>();
  for_each_row(out.size(0), n, [&](std::int64_t row, int) noexcept {
    const T* const x = left + row * a.stride(0);
    const T* const y = right + row * b.stride(0);
    T* const sum = to + row * out.stride(0);
    for (std::int64_t j = 0; j < n; ++j) sum[j] = x[j] + y[j];
  });
}

}  // namespace

void product(Pass& pass, ConstTensorView a, ConstTensorView w, TensorView out,
             const MatmulEpilogue& epilogue) {
  if (a.dtype() == DType::f64) return matmul(a, w, out, epilogue);
  matmul(a, PackedMatrix(w, pass.room.panels), out, epilogue);
}

void add(ConstTensorView a, ConstTensorView b, TensorView out) {
  out.dtype() == DType::f32 ? add_rows<float>(a, b, out) : add_rows<double>(a, b, out);
}

Linear::Linear(Parameters& parameters, const std::string& name, std::int64_t in, std::int64_t out,
               double deviation)
    : weight_(parameters.add(name + ".weight", {in, out}, 0, deviation)),
      bias_(parameters.add(name + ".bias", {out}, 0, 0)),
      in_(in),
      out_(out) {}

void Linear::plan(std::int64_t in, std::int64_t out, std::int64_t& panels, std::int64_t& gradient) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  panels = std::max(
      {panels, PackedMatrix::bytes_needed(in, out) / kFloat, PackedMatrix::bytes_needed(out, in) / kFloat});
  gradient = std::max(gradient, linear_gradient_room(in, out));
}

void Linear::forward(Pass& pass, ConstTensorView x, TensorView out, ConstTensorView residual) const {
  product(pass, x, pass.parameters.value(weight_), out,
          {.bias = pass.parameters.value(bias_), .residual = residual});
}

void Linear::backward(Pass& pass, ConstTensorView x, ConstTensorView d_out, TensorView d_x,
                      ConstTensorView residual) const {
  add_linear_gradient(x, d_out, pass.parameters.gradient(weight_), pass.parameters.gradient(bias_),
                      pass.room.gradient);
  if (!d_x.given()) return;
  product(pass, d_out, pass.parameters.value(weight_).transposed(0, 1), d_x, {.residual = residual});
}

Norm::Norm(Parameters& parameters, const std::string& name, const ModelShape& shape)
    : gamma_(parameters.add(name + ".gamma", {shape.hidden}, 1, 0)) {
  if (shape.norm == NormKind::layer) beta_ = parameters.add(name + ".beta", {shape.hidden}, 0, 0);
}

void Norm::forward(Pass& pass, ConstTensorView x, TensorView out) const {
  Parameters& parameters = pass.parameters;
  if (beta_ < 0) return rms_norm(x, parameters.value(gamma_), pass.shape.epsilon, out);
  layer_norm(x, parameters.value(gamma_), parameters.value(beta_), pass.shape.epsilon, out);
}

void Norm::backward(Pass& pass, ConstTensorView x, ConstTensorView d_out, TensorView d_x,
                    ConstTensorView residual) const {
  Parameters& parameters = pass.parameters;
  const TensorView d_gamma = pass.room.factors.select(0, 0), d_beta = pass.room.factors.select(0, 1);
  const auto keep = [](TensorView found, TensorView gradient) {
    const TensorView sum = gradient.with_axis(0);
    add(sum, found.with_axis(0), sum);
  };
  if (beta_ < 0) {
    rms_norm_backward(x, parameters.value(gamma_), pass.shape.epsilon, d_out, {.x = d_x, .gamma = d_gamma},
                      residual);
  } else {
    layer_norm_backward(x, parameters.value(gamma_), pass.shape.epsilon, d_out,
                        {.x = d_x, .gamma = d_gamma, .beta = d_beta}, residual);
    keep(d_beta, parameters.gradient(beta_));
  }
  keep(d_gamma, parameters.gradient(gamma_));
}

}  // namespace attend::train
