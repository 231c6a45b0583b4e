// The gradients of attention().
#include <attend/attention_backward.h>

#include <optional>
#include <string>

#include "bindings.h"
#include "call_stream.h"
#include "compute.h"
#include "heads.h"
#include "options.h"

namespace attend_python {
namespace {

// Which gradients the caller wants, by name.
struct Wanted {
  bool q = false, k = false, v = false, bias = false, alibi_slopes = false, sinks = false;

  explicit Wanted(nb::handle names) {
    for (const nb::handle item : names) {
      const std::string name = name_from(item, "wanted");
      if (name == "q")
        q = true;
      else if (name == "k")
        k = true;
      else if (name == "v")
        v = true;
      else if (name == "bias")
        bias = true;
      else if (name == "alibi_slopes")
        alibi_slopes = true;
      else if (name == "sinks")
        sinks = true;
      else
        refuse_value("wanted names \"", name,
                     "\", expected \"q\", \"k\", \"v\", \"bias\", \"alibi_slopes\" or \"sinks\"");
    }
  }
};

nb::object attention_backward(nb::handle q_object, nb::handle k_object, nb::handle v_object,
                              nb::handle out_object, nb::handle row_state, nb::handle d_out_object,
                              const nb::kwargs& keywords) {
  const CallStream stream(q_object, keywords);
  nb::object names = nb::make_tuple("q", "k", "v");
  const Options options("attention_backward", keywords, [&](std::string_view key, nb::handle value) {
    if (key != "wanted") return key == "stream";
    names = nb::borrow(value);
    return true;
  });
  const Wanted wanted(names);
  const Array q(q_object, "q"), k(k_object, "k"), v(v_object, "v"), out(out_object, "out"),
      d_out(d_out_object, "d_out");
  const Lift lift(q, options.packed());
  const RowStateArgument state(row_state);
  const ResultMaker results(q);
  const attend::DType computing_dtype = computing_type(q.dtype());
  const attend::ConstTensorView q_view = lift.up(q, "q"), k_view = lift.up(k, "k"), v_view = lift.up(v, "v"),
                                out_view = lift.up(out, "out"), d_out_view = lift.up(d_out, "d_out");
  const attend::Dims per_head{q_view.size(1)};  // packed (total, heads, d), dense (batch, heads, queries, d)

  std::optional<Result> d_q, d_k, d_v, d_bias, d_slopes, d_sinks;
  attend::AttentionGradients gradients;
  if (wanted.q) gradients.q = lift.up(d_q.emplace(results.empty(q.view().shape())));
  if (wanted.k) gradients.k = lift.up(d_k.emplace(results.empty(k.view().shape())));
  if (wanted.v) gradients.v = lift.up(d_v.emplace(results.empty(v.view().shape())));
  if (wanted.bias) {
    if (!options.bias()) refuse_value("wanted names \"bias\", but no bias is given");
    gradients.bias =
        d_bias.emplace(results.empty(options.bias()->view().shape(), options.bias()->dtype())).view();
  }
  if (wanted.alibi_slopes)
    gradients.alibi_slopes = d_slopes.emplace(results.empty(per_head, computing_dtype)).view();
  if (wanted.sinks) gradients.sinks = d_sinks.emplace(results.empty(per_head, computing_dtype)).view();

  const attend::ConstRowStateView state_view = state.view(lift);
  {
    const Computing computing;
    attend::attention_backward(q_view, k_view, v_view, options.get(), out_view, state_view, d_out_view,
                               gradients);
  }
  const auto object = [](const std::optional<Result>& result) {
    return result ? result->object() : nb::none();
  };
  return named_tuple("Gradients")(object(d_q), object(d_k), object(d_v), object(d_bias), object(d_slopes),
                                  object(d_sinks));
}

}  // namespace

void bind_backward(nb::module_& module) {
  module.def("attention_backward", &attention_backward, nb::arg("q").none(), nb::arg("k").none(),
             nb::arg("v").none(), nb::arg("out").none(), nb::arg("row_state").none(), nb::arg("d_out").none(),
             nb::arg("options"),
             nb::sig("def attention_backward(q: A, k: A, v: A, out: A, row_state: RowState, d_out: A, "
                     "*, " ATTEND_OPTIONS_SIGNATURE ", wanted: collections.abc.Iterable[str] = ('q', 'k', "
                     "'v'), stream: Stream | None = None) -> Gradients"),
             "The gradients of attention(), from its inputs, its output, its row state and the gradient of "
             "its output.");
}

}  // namespace attend_python
