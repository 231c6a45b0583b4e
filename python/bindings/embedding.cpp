// The two ends of a model: from ids to vectors, and from logits to the loss.
#include <attend/cross_entropy.h>
#include <attend/embedding.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "bindings.h"
#include "compute.h"
#include "heads.h"
#include "ids.h"
#include "numbers.h"
#include "results.h"

namespace attend_python {
namespace {

// A new array, (..., n), as (rows, n).
attend::TensorView rows_of(const Result& result, std::int64_t rows) {
  const attend::TensorView view = result.view();
  const std::int64_t n = view.size(view.rank() - 1);
  return {view.raw(), view.dtype(), {rows, n}, {n, 1}};
}

// Any array (..., n) as (rows, n); one of more than two axes is copied.
class Rows {
 public:
  Rows(const char* operation, const Array& array, const char* name) : view_(array.view()) {
    if (view_.rank() == 0) refuse_value(operation, ": ", name, " has no axes, expected one to four");
    if (view_.rank() == 1) view_ = view_.with_axis(0);
    if (view_.rank() == 2) return;
    copy_ = attend::copy_of(view_);
    const std::int64_t n = view_.size(view_.rank() - 1);
    const std::int64_t rows = attend::element_count(view_.shape().without(view_.rank() - 1));
    view_ = {copy_.view().raw(), copy_.dtype(), {rows, n}, {n, 1}};
  }
  attend::ConstTensorView view() const { return view_; }

 private:
  attend::Tensor copy_;
  attend::ConstTensorView view_;
};

nb::object embedding(nb::handle ids_object, nb::handle table_object) {
  const Ids ids(ids_object, "ids");
  const Array table(table_object, "table");
  if (table.rank() != 2) refuse_value("embedding: table has ", table.rank(), " axes, expected two: (n, d)");
  const Result out = ResultMaker(table).empty(ids.shape.with(ids.shape.rank(), table.view().size(1)));
  {
    const Computing computing;
    attend::embedding(ids.values, table.view(), rows_of(out, static_cast<std::int64_t>(ids.values.size())));
  }
  return out.object();
}

nb::object embedding_backward(nb::handle ids_object, nb::handle d_out_object, nb::handle rows_given) {
  const std::int64_t rows = integer_from(rows_given, "rows", 0);
  const Ids ids(ids_object, "ids");
  const Array d_out(d_out_object, "d_out");
  if (d_out.rank() != ids.shape.rank() + 1 || d_out.view().shape().without(d_out.rank() - 1) != ids.shape) {
    refuse_value("embedding_backward: d_out has shape ", attend::to_string(d_out.view().shape()),
                 ", and ids ", attend::to_string(ids.shape));
  }
  const Result d_table = ResultMaker(d_out).empty({rows, d_out.view().size(d_out.rank() - 1)});
  const Rows d_rows("embedding_backward", d_out, "d_out");
  {
    const Computing computing;
    const attend::TensorView table = d_table.view();
    std::memset(table.raw(), 0, static_cast<std::size_t>(table.count()) * attend::size_of(table.dtype()));
    attend::add_embedding_gradient(ids.values, d_rows.view(), table);
  }
  return d_table.object();
}

nb::object cross_entropy(nb::handle logits_object, nb::handle targets_object, nb::handle reduction_given,
                         nb::handle gradient_given) {
  const std::string reduction = choice_from(reduction_given, "reduction", {"mean", "sum"});
  const bool gradient = flag_from(gradient_given, "gradient");
  const Array logits(logits_object, "logits");
  const Ids targets(targets_object, "targets");
  if (logits.rank() != targets.shape.rank() + 1 ||
      logits.view().shape().without(logits.rank() - 1) != targets.shape) {
    refuse_value("cross_entropy: logits have shape ", attend::to_string(logits.view().shape()),
                 ", and targets ", attend::to_string(targets.shape));
  }
  const Rows rows("cross_entropy", logits, "logits");
  const auto counted = std::count_if(targets.values.begin(), targets.values.end(),
                                     [](std::int32_t target) { return target != attend::kNoTarget; });
  const double weight =
      reduction == "mean" ? 1 / static_cast<double>(std::max<std::int64_t>(1, counted)) : 1.0;
  std::optional<Result> d_logits;
  attend::TensorView d_rows;
  if (gradient) {
    d_logits.emplace(ResultMaker(logits).empty(logits.view().shape()));
    d_rows = rows_of(*d_logits, rows.view().size(0));
  }
  attend::CrossEntropy found;
  {
    const Computing computing;
    found = attend::cross_entropy(rows.view(), targets.values, weight, d_rows);
  }
  return named_tuple("CrossEntropy")(found.loss * weight, found.counted, found.right,
                                     d_logits ? d_logits->object() : nb::none());
}

}  // namespace

void bind_embedding(nb::module_& module) {
  module.def("embedding", &embedding, nb::arg("ids").none(), nb::arg("table").none(),
             nb::sig("def embedding(ids: numpy.typing.ArrayLike, table: A) -> A"),
             "table[ids]: ids (...), table (n, d), of float32 or float64.");
  module.def("embedding_backward", &embedding_backward, nb::arg("ids").none(), nb::arg("d_out").none(),
             nb::arg("rows").none(),
             nb::sig("def embedding_backward(ids: numpy.typing.ArrayLike, d_out: A, rows: int) -> A"),
             "The gradient of the table of so many rows, from that of embedding()'s output; also of learned "
             "positions.");
  module.def("cross_entropy", &cross_entropy, nb::arg("logits").none(), nb::arg("targets").none(),
             nb::arg("reduction").none() = "mean", nb::arg("gradient").none() = false,
             nb::sig("def cross_entropy(logits: Array, targets: numpy.typing.ArrayLike, reduction: "
                     "typing.Literal['mean', 'sum'] = 'mean', gradient: bool = False) -> CrossEntropy"),
             "-log softmax(logits)[target] over all rows that have a target: logits (..., n), targets (...), "
             "-1 being none.");
}

}  // namespace attend_python
