// The weights, on demand: chosen rows, and what all of them say without the matrix.
#include <attend/weights.h>

#include <optional>
#include <string>
#include <utility>

#include "bindings.h"
#include "call_stream.h"
#include "compute.h"
#include "heads.h"
#include "options.h"

namespace attend_python {
namespace {

attend::MapReduction reduction_from(nb::handle value) {
  return choice_from(value, "map_reduction", {"mean", "max"}) == "mean" ? attend::MapReduction::mean
                                                                        : attend::MapReduction::max;
}

nb::object weights(nb::handle q_object, nb::handle k_object, const nb::kwargs& keywords) {
  const CallStream stream(q_object, keywords);
  attend::Stage stage = attend::Stage::weights;
  attend::RowSelection selection;
  nb::handle row_state = nb::none();
  const Options options("weights", keywords, [&](std::string_view key, nb::handle value) {
    if (key == "stage")
      stage = stage_from(value);
    else if (key == "sequences")
      selection.sequences = indices_from(value, "sequences");
    else if (key == "heads")
      selection.heads = indices_from(value, "heads");
    else if (key == "rows")
      selection.rows = indices_from(value, "rows");
    else if (key == "row_state")
      row_state = value;
    else
      return key == "stream";
    return true;
  });
  const Array q(q_object, "q"), k(k_object, "k");
  const Lift lift(q, options.packed());
  if (lift.added() > 0 && !selection.sequences.is_all())
    refuse_value("sequences are chosen, but q has no axis for them");
  if (lift.added() > 1 && !selection.heads.is_all())
    refuse_value("heads are chosen, but q has no axis for them");
  const RowStateArgument state(row_state);
  const attend::ConstTensorView q_view = lift.up(q, "q"), k_view = lift.up(k, "k");
  const attend::ConstRowStateView state_view = state.view(lift);
  attend::Tensor rows;
  {
    const Computing computing;
    rows = attend::attention_rows(q_view, k_view, options.get(), stage, selection, state_view);
  }
  return ResultMaker(q).take(std::move(rows), lift.added());
}

nb::object summarize_weights(nb::handle q_object, nb::handle k_object, const nb::kwargs& keywords) {
  const CallStream stream(q_object, keywords);
  attend::WeightsRequest request;
  nb::handle row_state = nb::none();
  const Options options("summarize_weights", keywords, [&](std::string_view key, nb::handle value) {
    if (key == "top_k")
      request.top_k = integer_from(value, "top_k");
    else if (key == "received")
      request.received = flag_from(value, "received");
    else if (key == "entropy")
      request.entropy = flag_from(value, "entropy");
    else if (key == "map_shape") {
      if (value.is_none()) return true;
      const auto shape = integers_from(value, "map_shape");
      if (shape.size() != 2)
        refuse_value("map_shape has ", shape.size(), " numbers, expected two: rows and columns");
      request.map_rows = shape[0];
      request.map_columns = shape[1];
    } else if (key == "map_reduction")
      request.map_reduction = reduction_from(value);
    else if (key == "row_state")
      row_state = value;
    else
      return key == "stream";
    return true;
  });
  const Array q(q_object, "q"), k(k_object, "k");
  const Lift lift(q, options.packed());
  const RowStateArgument state(row_state);
  const attend::ConstTensorView q_view = lift.up(q, "q"), k_view = lift.up(k, "k");
  const attend::ConstRowStateView state_view = state.view(lift);
  attend::WeightsSummary summary;
  {
    const Computing computing;
    summary = attend::summarize_weights(q_view, k_view, options.get(), request, state_view);
  }
  const ResultMaker results(q);
  const auto give = [&](bool asked, attend::Tensor& tensor) {
    return asked ? results.take(std::move(tensor), lift.added()) : nb::none();
  };
  return named_tuple("WeightsSummary")(
      give(request.top_k > 0, summary.top_keys), give(request.top_k > 0, summary.top_weights),
      give(request.received, summary.received), give(request.entropy, summary.entropy),
      give(request.map_rows > 0, summary.map));
}

}  // namespace

void bind_weights(nb::module_& module) {
  module.def(
      "weights", &weights, nb::arg("q").none(), nb::arg("k").none(), nb::arg("options"),
      nb::sig("def weights(q: A, k: A, *, " ATTEND_OPTIONS_SIGNATURE
              ", stage: Stage = 'weights', sequences: Choice | None = None, heads: Choice | None = None, "
              "rows: Choice | None = None, row_state: RowState | None = None, stream: Stream | None = None) "
              "-> A"),
      "Rows of the attention matrix at one of its stages: (sequences, heads, rows, keys), as many of them as "
      "are chosen.");
  module.def(
      "summarize_weights", &summarize_weights, nb::arg("q").none(), nb::arg("k").none(), nb::arg("options"),
      nb::sig("def summarize_weights(q: A, k: A, *, " ATTEND_OPTIONS_SIGNATURE
              ", top_k: int = 0, received: bool = False, entropy: bool = False, map_shape: tuple[int, int] | "
              "None = None, "
              "map_reduction: Reduction = 'mean', row_state: RowState | None = None, "
              "stream: Stream | None = None) -> WeightsSummary"),
      "What the weights of every row say, in one pass and without the matrix: the top keys of each row, how "
      "much attention\n"
      "each key receives, the entropy of each row, the whole matrix as a small map.");
}

}  // namespace attend_python
