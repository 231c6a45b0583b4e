// The linear layer with its gradients.
#include "nn/linear.h"

#include <optional>

#include "bindings.h"
#include "compute.h"
#include "heads.h"
#include "nn/linear_gradient.h"
#include "results.h"

namespace attend_python {
namespace {

nb::object linear(nb::handle x_object, nb::handle w_object, nb::handle bias_object) {
  const Array x(x_object, "x"), w(w_object, "w");
  std::optional<Array> bias;
  const attend::ConstTensorView bias_view = optional_view(bias, bias_object, "bias");
  if (x.rank() < 1 || w.rank() != 2) refuse_value("linear: expected x of two to four axes and w of two");
  attend::Dims shape = x.view().shape();
  if (shape[shape.rank() - 1] != w.view().size(0)) {  // before there is a result, whose size is then anything
    refuse_value("linear: x has shape ", attend::to_string(shape), ", which does not go with w of shape ",
                 attend::to_string(w.view().shape()));
  }
  shape[shape.rank() - 1] = w.view().size(1);
  const Result out = ResultMaker(x).empty(shape);
  {
    const Computing computing;
    attend::linear(x.view(), w.view(), bias_view, out.view());
  }
  return out.object();
}

nb::object linear_backward(nb::handle x_object, nb::handle w_object, nb::handle d_out_object) {
  const Array x(x_object, "x"), w(w_object, "w"), d_out(d_out_object, "d_out");
  if (w.rank() != 2) refuse_value("linear_backward: expected w of two axes, not ", w.rank());
  const ResultMaker results(x);
  const Result d_x = results.empty(x.view().shape()), d_w = results.empty(w.view().shape()),
               d_bias = results.empty({w.view().size(1)});
  {
    const Computing computing;
    attend::linear_gradients(x.view(), w.view(), d_out.view(), d_x.view(), d_w.view(), d_bias.view());
  }
  return named_tuple("LinearGradients")(d_x.object(), d_w.object(), d_bias.object());
}

}  // namespace

void bind_linear(nb::module_& module) {
  module.def("linear", &linear, nb::arg("x").none(), nb::arg("w").none(), nb::arg("bias") = nb::none(),
             nb::sig("def linear(x: A, w: A, bias: A | None = None) -> A"),
             "x w + bias: x (..., in), w (in, out), of float32 or float64. A weight stored as (out, in) is "
             "passed as weight.T.");
  module.def("linear_backward", &linear_backward, nb::arg("x").none(), nb::arg("w").none(),
             nb::arg("d_out").none(), nb::sig("def linear_backward(x: A, w: A, d_out: A) -> LinearGradients"),
             "The gradients of linear(), from its inputs and the gradient of its output.");
}

}  // namespace attend_python
