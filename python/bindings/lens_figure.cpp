// The figures of `attend explain`, made from a reading.
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>
#include <utility>

#include "bindings.h"
#include "compute.h"
#include "errors.h"
#include "explain/explanation_figure.h"
#include "explain/phrases.h"
#include "figure.h"
#include "lens.h"
#include "numbers.h"

namespace attend_python {
namespace {

namespace nb = nanobind;
namespace explain = attend::explain;

// A name that find_word() reads as this word.
std::string name_of_word(nb::handle word, const std::vector<attend::Word>& units) {
  const std::size_t place = word_from(word, units);
  return PyUnicode_Check(word.ptr()) ? nb::cast<std::string>(word) : explain::labels_of(units)[place];
}

FigureCore lens_figure(const LensReading& reading, nb::handle view_given, nb::handle method, nb::handle layer,
                       nb::handle head, nb::handle focus, nb::handle tokens_given, nb::handle special_given,
                       nb::handle sink, nb::handle gradients, nb::handle top_given) {
  const std::string view_name = name_from(view_given, "view");
  const bool tokens = flag_from(tokens_given, "tokens"), special = flag_from(special_given, "special");
  const auto top = static_cast<std::size_t>(integer_from(top_given, "top", 1));
  const auto view = explain::view_named(view_name);
  if (!view) refuse_value("view is \"", view_name, "\", expected map, lines, model or film");
  explain::ExplainRequest request{.query = query_from(reading, method, layer, head, gradients),
                                  .tokens = tokens,
                                  .special = special,
                                  .sink = sink_from(sink),
                                  .top = top};
  if (request.query.method == attend::LensMethod::flow && *view != explain::View::map)
    refuse_value("method flow is for one word, and has no view but the map's");
  if (!focus.is_none())
    request.focus = name_of_word(focus, tokens ? attend::single_tokens(*reading) : reading->words());
  FigureCore core;
  {
    const Computing computing;
    const explain::Explanation explanation = explain::explain(*reading, request);
    core.figure = explain::explanation_figure(*reading, request, explanation, *view);
  }
  return core;
}

}  // namespace

void bind_lens_figure(nb::module_& module) {
  module.def(
      "lens_figure", &lens_figure, nb::arg("reading"), nb::arg("view").none(), nb::arg("method").none(),
      nb::arg("layer").none(), nb::arg("head").none(), nb::arg("focus").none(), nb::arg("tokens").none(),
      nb::arg("special").none(), nb::arg("sink").none(), nb::arg("gradients").none(), nb::arg("top").none(),
      nb::sig("def lens_figure(reading: ReadingCore, view: str, method: str, layer: int | None, head: int | "
              "None, focus: str | int | None, tokens: bool, special: bool, sink: str, gradients: "
              "GradientsCore | None, "
              "top: int) -> FigureCore"));
}

}  // namespace attend_python
