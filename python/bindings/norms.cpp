// RMSNorm, and the gradients of both norms.
#include <attend/layer_norm.h>
#include <attend/rms_norm.h>

#include <optional>

#include "bindings.h"
#include "compute.h"
#include "heads.h"
#include "numbers.h"
#include "results.h"

namespace attend_python {
namespace {

nb::object object_of(const std::optional<Result>& result) { return result ? result->object() : nb::none(); }

// Room for the gradient of gamma or beta, where that is given.
attend::TensorView room_for(std::optional<Result>& result, const ResultMaker& results,
                            attend::ConstTensorView factor) {
  return factor.given() ? result.emplace(results.empty(factor.shape())).view() : attend::TensorView();
}

nb::object rms_norm(nb::handle x_object, nb::handle gamma_object, nb::handle epsilon_given) {
  const double epsilon = number_from(epsilon_given, "epsilon");
  const Array x(x_object, "x");
  std::optional<Array> gamma;
  const attend::ConstTensorView gamma_view = optional_view(gamma, gamma_object, "gamma");
  const Result out = ResultMaker(x).empty(x.view().shape());
  {
    const Computing computing;
    attend::rms_norm(x.view(), gamma_view, epsilon, out.view());
  }
  return out.object();
}

nb::object rms_norm_backward(nb::handle x_object, nb::handle d_out_object, nb::handle gamma_object,
                             nb::handle epsilon_given, nb::handle residual_object) {
  const double epsilon = number_from(epsilon_given, "epsilon");
  const Array x(x_object, "x"), d_out(d_out_object, "d_out");
  std::optional<Array> gamma, residual;
  const attend::ConstTensorView gamma_view = optional_view(gamma, gamma_object, "gamma"),
                                residual_view = optional_view(residual, residual_object, "residual");
  const ResultMaker results(x);
  const Result d_x = results.empty(x.view().shape());
  std::optional<Result> d_gamma;
  const attend::RmsNormGradients gradients{.x = d_x.view(), .gamma = room_for(d_gamma, results, gamma_view)};
  {
    const Computing computing;
    attend::rms_norm_backward(x.view(), gamma_view, epsilon, d_out.view(), gradients, residual_view);
  }
  return named_tuple("NormGradients")(d_x.object(), object_of(d_gamma), nb::none());
}

nb::object layer_norm_backward(nb::handle x_object, nb::handle d_out_object, nb::handle gamma_object,
                               nb::handle epsilon_given, nb::handle residual_object) {
  const double epsilon = number_from(epsilon_given, "epsilon");
  const Array x(x_object, "x"), d_out(d_out_object, "d_out");
  std::optional<Array> gamma, residual;
  const attend::ConstTensorView gamma_view = optional_view(gamma, gamma_object, "gamma"),
                                residual_view = optional_view(residual, residual_object, "residual");
  const ResultMaker results(x);
  const Result d_x = results.empty(x.view().shape());
  std::optional<Result> d_gamma, d_beta;
  const attend::LayerNormGradients gradients{.x = d_x.view(),
                                             .gamma = room_for(d_gamma, results, gamma_view),
                                             .beta = room_for(d_beta, results, gamma_view)};
  {
    const Computing computing;
    attend::layer_norm_backward(x.view(), gamma_view, epsilon, d_out.view(), gradients, residual_view);
  }
  return named_tuple("NormGradients")(d_x.object(), object_of(d_gamma), object_of(d_beta));
}

}  // namespace

void bind_norms(nb::module_& module) {
  module.def("rms_norm", &rms_norm, nb::arg("x").none(), nb::arg("gamma") = nb::none(),
             nb::arg("epsilon").none() = 1e-5,
             nb::sig("def rms_norm(x: A, gamma: Array | None = None, epsilon: float = 1e-5) -> A"),
             "x / sqrt(mean(x^2) + epsilon) gamma over the last axis.");
  module.def(
      "rms_norm_backward", &rms_norm_backward, nb::arg("x").none(), nb::arg("d_out").none(),
      nb::arg("gamma") = nb::none(), nb::arg("epsilon").none() = 1e-5, nb::arg("residual") = nb::none(),
      nb::sig("def rms_norm_backward(x: A, d_out: A, gamma: Array | None = None, epsilon: float = 1e-5, "
              "residual: A | None = None) -> NormGradients"),
      "The gradients of rms_norm(); residual is what reaches x past the norm, and is added.");
  module.def(
      "layer_norm_backward", &layer_norm_backward, nb::arg("x").none(), nb::arg("d_out").none(),
      nb::arg("gamma") = nb::none(), nb::arg("epsilon").none() = 1e-5, nb::arg("residual") = nb::none(),
      nb::sig("def layer_norm_backward(x: A, d_out: A, gamma: Array | None = None, epsilon: float = 1e-5, "
              "residual: A | None = None) -> NormGradients"),
      "The gradients of layer_norm(), with those of gamma and beta where a gamma is given; residual is what "
      "reaches x past the norm, and is added. Where layer_norm() took a residual, x is the sum.");
}

}  // namespace attend_python
