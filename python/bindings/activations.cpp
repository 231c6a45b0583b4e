// Element by element: SwiGLU, dropout, and the gradients of GELU and softmax.
#include <attend/dropout.h>
#include <attend/gelu.h>
#include <attend/reference.h>
#include <attend/swiglu.h>

#include <string>

#include "bindings.h"
#include "compute.h"
#include "heads.h"
#include "options.h"
#include "results.h"

namespace attend_python {
namespace {

nb::object gelu_backward(nb::handle x_object, nb::handle d_out_object, nb::handle approximate) {
  const bool tanh = choice_from(approximate, "approximate", {"none", "tanh"}) == "tanh";
  const Array x(x_object, "x"), d_out(d_out_object, "d_out");
  const Result d_x = ResultMaker(x).empty(x.view().shape());
  {
    const Computing computing;
    tanh ? attend::gelu_tanh_backward(x.view(), d_out.view(), d_x.view())
         : attend::gelu_backward(x.view(), d_out.view(), d_x.view());
  }
  return d_x.object();
}

nb::object softmax_backward(nb::handle weights_object, nb::handle d_weights_object) {
  const Array weights(weights_object, "weights"), d_weights(d_weights_object, "d_weights");
  const Result d_x = ResultMaker(weights).empty(weights.view().shape());
  {
    const Computing computing;
    attend::reference::softmax_backward(weights.view(), d_weights.view(), d_x.view());
  }
  return d_x.object();
}

nb::object swiglu(nb::handle gate_object, nb::handle up_object) {
  const Array gate(gate_object, "gate"), up(up_object, "up");
  const Result out = ResultMaker(gate).empty(gate.view().shape());
  {
    const Computing computing;
    attend::swiglu(gate.view(), up.view(), out.view());
  }
  return out.object();
}

nb::object swiglu_backward(nb::handle gate_object, nb::handle up_object, nb::handle d_out_object) {
  const Array gate(gate_object, "gate"), up(up_object, "up"), d_out(d_out_object, "d_out");
  const ResultMaker results(gate);
  const Result d_gate = results.empty(gate.view().shape()), d_up = results.empty(gate.view().shape());
  {
    const Computing computing;
    attend::swiglu_backward(gate.view(), up.view(), d_out.view(), d_gate.view(), d_up.view());
  }
  return named_tuple("SwigluGradients")(d_gate.object(), d_up.object());
}

nb::object dropout(nb::handle x_object, nb::handle probability, nb::handle seed, nb::handle stream) {
  const attend::Dropout coins{number_from(probability, "probability"), seed_from(seed, "seed"),
                              seed_from(stream, "stream")};
  const Array x(x_object, "x");
  const Result out = ResultMaker(x).empty(x.view().shape());
  {
    const Computing computing;
    attend::dropout(x.view(), coins, out.view());
  }
  return out.object();
}

}  // namespace

void bind_activations(nb::module_& module) {
  module.def("gelu_backward", &gelu_backward, nb::arg("x").none(), nb::arg("d_out").none(),
             nb::arg("approximate").none() = "none",
             nb::sig("def gelu_backward(x: A, d_out: A, approximate: typing.Literal['none', 'tanh'] = "
                     "'none') -> A"),
             "The gradient of gelu(), from its input and the gradient of its output.");
  module.def("softmax_backward", &softmax_backward, nb::arg("weights").none(), nb::arg("d_weights").none(),
             nb::sig("def softmax_backward(weights: A, d_weights: A) -> A"),
             "The gradient of softmax(), from its output and the gradient of that; computed in float64.");
  module.def("swiglu", &swiglu, nb::arg("gate").none(), nb::arg("up").none(),
             nb::sig("def swiglu(gate: A, up: A) -> A"), "gate sigmoid(gate) up, element by element.");
  module.def("swiglu_backward", &swiglu_backward, nb::arg("gate").none(), nb::arg("up").none(),
             nb::arg("d_out").none(),
             nb::sig("def swiglu_backward(gate: A, up: A, d_out: A) -> SwigluGradients"),
             "The gradients of swiglu(), from its inputs and the gradient of its output.");
  module.def(
      "dropout", &dropout, nb::arg("x").none(), nb::arg("probability").none(), nb::arg("seed").none() = 0,
      nb::arg("stream").none() = 0,
      nb::sig("def dropout(x: A, probability: float, seed: int = 0, stream: int = 0) -> A"),
      "Each element becomes 0 with this probability, else it is divided by 1 - probability. Which ones "
      "follows from seed, stream and place alone, so the gradient is the same call on that of the "
      "output.");
}

}  // namespace attend_python
