// What a layer has around its attention: matrix product, softmax, layer norm, GELU; and the textbook forms of
// attention.
#include <attend/gelu.h>
#include <attend/layer_norm.h>
#include <attend/matmul.h>
#include <attend/multi_head.h>
#include <attend/softmax.h>

#include <optional>
#include <string>
#include <utility>

#include "bindings.h"
#include "compute.h"
#include "heads.h"
#include "options.h"

namespace attend_python {
namespace {

nb::object softmax(nb::handle x_object) {
  const Array x(x_object, "x");
  const Result out = ResultMaker(x).empty(x.view().shape());
  {
    const Computing computing;
    attend::softmax(x.view(), out.view());
  }
  return out.object();
}

nb::object gelu(nb::handle x_object, nb::handle approximate) {
  const bool tanh = choice_from(approximate, "approximate", {"none", "tanh"}) == "tanh";
  const Array x(x_object, "x");
  const Result out = ResultMaker(x).empty(x.view().shape());
  {
    const Computing computing;
    tanh ? attend::gelu_tanh(x.view(), out.view()) : attend::gelu(x.view(), out.view());
  }
  return out.object();
}

nb::object layer_norm(nb::handle x_object, nb::handle gamma_object, nb::handle beta_object,
                      nb::handle epsilon_given, nb::handle residual_object, nb::handle return_state_given) {
  const double epsilon = number_from(epsilon_given, "epsilon");
  const bool return_state = flag_from(return_state_given, "return_state");
  const Array x(x_object, "x");
  std::optional<Array> gamma, beta, residual;
  const attend::ConstTensorView gamma_view = optional_view(gamma, gamma_object, "gamma"),
                                beta_view = optional_view(beta, beta_object, "beta"),
                                residual_view = optional_view(residual, residual_object, "residual");
  const ResultMaker results(x);
  const Result out = results.empty(x.view().shape());
  std::optional<Result> mean, inverse_deviation;
  attend::LayerNormStateView state;
  if (return_state && x.rank() > 0) {
    const attend::Dims rows = x.view().shape().without(x.rank() - 1);
    const attend::DType dtype = computing_type(x.dtype());
    state = {mean.emplace(results.empty(rows, dtype)).view(),
             inverse_deviation.emplace(results.empty(rows, dtype)).view()};
  }
  {
    const Computing computing;
    if (residual_view.given()) {
      attend::add_layer_norm(x.view(), residual_view, gamma_view, beta_view, epsilon, out.view(), state);
    } else {
      attend::layer_norm(x.view(), gamma_view, beta_view, epsilon, out.view(), state);
    }
  }
  if (!return_state) return out.object();
  return nb::make_tuple(out.object(),
                        named_tuple("LayerNormState")(mean->object(), inverse_deviation->object()));
}

attend::Activation activation_from(nb::handle value) {
  if (value.is_none()) return attend::Activation::none;
  const std::string name = name_from(value, "activation");
  if (name == "gelu") return attend::Activation::gelu;
  if (name == "gelu_tanh") return attend::Activation::gelu_tanh;
  if (name == "relu") return attend::Activation::relu;
  refuse_value("activation is \"", name, "\", expected None, \"gelu\", \"gelu_tanh\" or \"relu\"");
}

nb::object matmul(nb::handle a_object, nb::handle w_object, nb::handle bias_object, nb::handle activation,
                  nb::handle residual_object) {
  const Array a(a_object, "a");
  std::optional<Array> w, bias, residual;
  const attend::PackedMatrix* packed = nullptr;
  if (!nb::try_cast(w_object, packed)) packed = nullptr;
  if (packed == nullptr) w.emplace(w_object, "w");
  attend::MatmulEpilogue epilogue;
  epilogue.bias = optional_view(bias, bias_object, "bias");
  epilogue.activation = activation_from(activation);
  epilogue.residual = optional_view(residual, residual_object, "residual");
  if (a.rank() == 0 || (w && w->rank() != 2))
    refuse_value("matmul: expected a of two to four axes and w of two");
  attend::Dims shape = a.view().shape();
  const std::int64_t rows = packed != nullptr ? packed->rows() : w->view().size(0);
  if (shape[shape.rank() - 1] != rows) {  // before there is a result, whose size is then anything
    refuse_value("matmul: a has shape ", attend::to_string(shape), ", which does not go with w of ", rows,
                 " rows");
  }
  shape[shape.rank() - 1] = packed != nullptr ? packed->columns() : w->view().size(1);
  const Result out = ResultMaker(a).empty(shape);
  {
    const Computing computing;
    packed != nullptr ? attend::matmul(a.view(), *packed, out.view(), epilogue)
                      : attend::matmul(a.view(), w->view(), out.view(), epilogue);
  }
  return out.object();
}

nb::object result_of(const Array& x, attend::AttentionResult result) {
  const ResultMaker results(x);
  return named_tuple("AttentionResult")(results.take(std::move(result.output)),
                                        results.take(std::move(result.weights)));
}

nb::object self_attention(nb::handle x_object) {
  const Array x(x_object, "x");
  attend::AttentionResult result;
  {
    const Computing computing;
    result = attend::self_attention(x.view());
  }
  return result_of(x, std::move(result));
}

nb::object single_head_attention(nb::handle x_object, nb::handle wq_object, nb::handle wk_object,
                                 nb::handle wv_object, const nb::kwargs& keywords) {
  const Options options("single_head_attention", keywords);
  const Array x(x_object, "x"), wq(wq_object, "wq"), wk(wk_object, "wk"), wv(wv_object, "wv");
  attend::AttentionResult result;
  {
    const Computing computing;
    result = attend::single_head_attention(x.view(), wq.view(), wk.view(), wv.view(), options.get());
  }
  return result_of(x, std::move(result));
}

}  // namespace

void bind_layers(nb::module_& module) {
  module.def("softmax", &softmax, nb::arg("x").none(), nb::sig("def softmax(x: A) -> A"),
             "Softmax over the last axis; a row of -inf gives 0.");
  module.def("gelu", &gelu, nb::arg("x").none(), nb::arg("approximate").none() = "none",
             nb::sig("def gelu(x: A, approximate: typing.Literal['none', 'tanh'] = 'none') -> A"),
             "x Phi(x), by the error function or by its approximation with a hyperbolic tangent.");
  module.def("layer_norm", &layer_norm, nb::arg("x").none(), nb::arg("gamma") = nb::none(),
             nb::arg("beta") = nb::none(), nb::arg("epsilon").none() = 1e-5, nb::arg("residual") = nb::none(),
             nb::arg("return_state").none() = false,
             nb::sig("def layer_norm(x: A, gamma: Array | None = None, beta: Array | None = None, epsilon: "
                     "float = 1e-5, "
                     "residual: A | None = None, return_state: bool = False) -> typing.Any"),
             "Layer normalisation over the last axis, of x or of x + residual.\n\n"
             "Returns the output, or with return_state=True the output and its LayerNormState.");
  nb::class_<attend::PackedMatrix>(module, "PackedMatrix",
                                   "A right-hand matrix (k, n) in the order in which the product reads it.")
      .def(
          "__init__",
          [](attend::PackedMatrix* self, nb::handle w_object, nb::handle precision) {
            const Array w(w_object, "w");
            new (self) attend::PackedMatrix(w.view(), attend::packed_as(precision_from(precision)));
          },
          nb::arg("w").none(), nb::kw_only(), nb::arg("precision").none() = "f32",
          nb::sig("def __init__(self, w: Array, *, precision: Precision = 'f32') -> None"),
          "precision: what the numbers are rounded to, and multiplied in.")
      .def_prop_ro(
          "shape",
          [](const attend::PackedMatrix& self) { return nb::make_tuple(self.rows(), self.columns()); },
          nb::sig("def shape(self) -> tuple[int, int]"))
      .def("__repr__", [](const attend::PackedMatrix& self) {
        return "<attend.PackedMatrix (" + std::to_string(self.rows()) + ", " +
               std::to_string(self.columns()) + ")>";
      });
  module.def("matmul", &matmul, nb::arg("a").none(), nb::arg("w").none(), nb::arg("bias") = nb::none(),
             nb::arg("activation") = nb::none(), nb::arg("residual") = nb::none(),
             nb::sig("def matmul(a: A, w: Array | PackedMatrix, bias: Array | None = None, "
                     "activation: typing.Literal['gelu', 'gelu_tanh', 'relu'] | None = None, residual: A | "
                     "None = None) -> A"),
             "activation(a w + bias) + residual.");
  module.def("self_attention", &self_attention, nb::arg("x").none(),
             nb::sig("def self_attention(x: A) -> AttentionResult"),
             "softmax(X X^T) X, the parameter-free form: x (n, d) gives output (n, d) and weights (n, n).");
  module.def("single_head_attention", &single_head_attention, nb::arg("x").none(), nb::arg("wq").none(),
             nb::arg("wk").none(), nb::arg("wv").none(), nb::arg("options"),
             nb::sig("def single_head_attention(x: A, wq: A, wk: A, wv: A, *, " ATTEND_OPTIONS_SIGNATURE
                     ") -> AttentionResult"),
             "softmax(Q K^T / sqrt(d)) V with Q = X Wq, K = X Wk, V = X Wv; returns output and weights.");
}

}  // namespace attend_python
