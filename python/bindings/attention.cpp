// attention() and what goes with its row state.
#include <attend/attention.h>

#include <optional>

#include "bindings.h"
#include "call_stream.h"
#include "compute.h"
#include "heads.h"
#include "options.h"

namespace attend_python {
namespace {

nb::object attention(nb::handle q_object, nb::handle k_object, nb::handle v_object,
                     const nb::kwargs& keywords) {
  const CallStream stream(q_object, keywords);
  bool return_state = false;
  nb::handle out_object = nb::none();
  const Options options("attention", keywords, [&](std::string_view key, nb::handle value) {
    if (key == "return_state")
      return_state = flag_from(value, "return_state");
    else if (key == "out")
      out_object = value;
    else
      return key == "stream";
    return true;
  });
  const Array q(q_object, "q"), k(k_object, "k"), v(v_object, "v");
  const Lift lift(q, options.packed());
  const attend::ConstTensorView q_view = lift.up(q, "q"), k_view = lift.up(k, "k"), v_view = lift.up(v, "v");
  const ResultMaker results(q);
  attend::Dims shape = q.view().shape();
  shape[shape.rank() - 1] = v.view().size(v.rank() - 1);

  std::optional<Array> given;
  std::optional<Result> made, max, sum;
  attend::TensorView out;
  if (out_object.is_none()) {
    out = lift.up(made.emplace(results.empty(shape)));
  } else {
    out = lift.up(given.emplace(out_object, "out", Access::write), "out", Access::write);
  }
  attend::RowStateView state;
  if (return_state) {
    const attend::Dims rows = q.view().shape().without(q.rank() - 1);
    const attend::DType dtype = computing_type(q.dtype());
    state = {lift.up(max.emplace(results.empty(rows, dtype))),
             lift.up(sum.emplace(results.empty(rows, dtype)))};
  }
  {
    const Computing computing;
    attend::attention(q_view, k_view, v_view, options.get(), out, state);
  }
  const nb::object result = made ? made->object() : nb::borrow(out_object);
  if (!return_state) return result;
  return nb::make_tuple(result, named_tuple("RowState")(max->object(), sum->object()));
}

nb::object attention_kernel(nb::handle q_object, nb::handle k_object, const nb::kwargs& keywords) {
  const CallStream stream(q_object, nb::none());
  const Options options("attention_kernel", keywords);
  const Array q(q_object, "q"), k(k_object, "k");
  const Lift lift(q, options.packed());
  const attend::KernelChoice choice =
      attend::attention_kernel(lift.up(q, "q"), lift.up(k, "k"), options.get());
  const auto text = [](std::string_view words) { return nb::str(words.data(), words.size()); };
  return named_tuple("KernelChoice")(text(choice.name), text(choice.why));
}

nb::object log_sum_exp(nb::handle row_state, nb::handle given_stream) {
  if (!nb::isinstance<nb::tuple>(row_state) || nb::len(row_state) != 2)
    refuse_type("row_state must be the RowState that attention() returned");
  const CallStream stream(row_state[0], given_stream);
  const Array max(row_state[0], "row_state.max"), sum(row_state[1], "row_state.sum");
  const Result out = ResultMaker(max).empty(max.view().shape());
  {
    const Computing computing;
    attend::log_sum_exp({max.view(), sum.view()}, out.view());
  }
  return out.object();
}

nb::object merge_attention(nb::handle out_a_object, nb::handle state_a, nb::handle out_b_object,
                           nb::handle state_b, nb::handle given_stream) {
  const CallStream stream(out_a_object, given_stream);
  const Array out_a(out_a_object, "out_a"), out_b(out_b_object, "out_b");
  const RowStateArgument a(state_a), b(state_b);
  const Lift lift(out_a, false);
  const ResultMaker results(out_a);
  const attend::Dims rows = out_a.view().shape().without(out_a.rank() - 1);
  const attend::DType dtype = computing_type(out_a.dtype());
  const Result out = results.empty(out_a.view().shape()), max = results.empty(rows, dtype),
               sum = results.empty(rows, dtype);
  const attend::ConstTensorView a_view = lift.up(out_a, "out_a"), b_view = lift.up(out_b, "out_b");
  const attend::ConstRowStateView a_state = a.view(lift), b_state = b.view(lift);
  {
    const Computing computing;
    attend::merge_attention(a_view, a_state, b_view, b_state, lift.up(out), {lift.up(max), lift.up(sum)});
  }
  return nb::make_tuple(out.object(), named_tuple("RowState")(max.object(), sum.object()));
}

}  // namespace

void bind_attention(nb::module_& module) {
  module.def("attention", &attention, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
             nb::arg("options"),
             nb::sig("def attention(q: A, k: A, v: A, *, " ATTEND_OPTIONS_SIGNATURE
                     ", return_state: bool = False, out: A | None = None, stream: Stream | None = None) -> "
                     "typing.Any"),
             "softmax(scale q k^T + bias) v: (queries, d), (heads, queries, d), (batch, heads, queries, d), "
             "or packed.\n\n"
             "Returns the output, or with return_state=True the output and its RowState.");
  module.def("attention_kernel", &attention_kernel, nb::arg("q").none(), nb::arg("k").none(),
             nb::arg("options"),
             nb::sig("def attention_kernel(q: A, k: A, *, " ATTEND_OPTIONS_SIGNATURE ") -> KernelChoice"),
             "The kernel that attention() picks for such a call, and why.");
  module.def("log_sum_exp", &log_sum_exp, nb::arg("row_state").none(), nb::kw_only(),
             nb::arg("stream") = nb::none(),
             nb::sig("def log_sum_exp(row_state: RowState, *, stream: Stream | None = None) -> typing.Any"),
             "max + log(sum) of each row; -inf where a row has no keys.");
  module.def("merge_attention", &merge_attention, nb::arg("out_a").none(), nb::arg("state_a").none(),
             nb::arg("out_b").none(), nb::arg("state_b").none(), nb::kw_only(),
             nb::arg("stream") = nb::none(),
             nb::sig("def merge_attention(out_a: A, state_a: RowState, out_b: A, state_b: RowState, *, "
                     "stream: Stream | None = None) -> "
                     "tuple[A, RowState]"),
             "Two results over disjoint sets of keys become the result over both, exactly.");
}

}  // namespace attend_python
