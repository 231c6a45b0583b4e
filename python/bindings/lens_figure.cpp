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

namespace attend_python {
namespace {

namespace nb = nanobind;
namespace explain = attend::explain;

// A name that find_word() reads as this word.
std::string name_of_word(nb::handle word, const std::vector<attend::Word>& units) {
  const std::size_t place = word_from(word, units);
  return PyUnicode_Check(word.ptr()) ? nb::cast<std::string>(word) : explain::labels_of(units)[place];
}

FigureCore lens_figure(const LensReading& reading, const std::string& view_name, const std::string& method,
                       std::optional<std::int64_t> layer, std::optional<std::int64_t> head, nb::handle focus,
                       bool tokens, bool special, const LensGradients* gradients, std::size_t top) {
  const auto view = explain::view_named(view_name);
  if (!view) refuse_value("view is \"", view_name, "\", expected map, lines, model or film");
  explain::ExplainRequest request{.query = query_from(reading, method, layer, head, gradients),
                                  .tokens = tokens,
                                  .special = special,
                                  .top = top,
                                  .special_option = "special=True"};
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
      "lens_figure", &lens_figure, nb::arg("reading"), nb::arg("view"), nb::arg("method"),
      nb::arg("layer").none(), nb::arg("head").none(), nb::arg("focus").none(), nb::arg("tokens"),
      nb::arg("special"), nb::arg("gradients").none(), nb::arg("top"),
      nb::sig("def lens_figure(reading: ReadingCore, view: str, method: str, layer: int | None, head: int | "
              "None, focus: str | int | None, tokens: bool, special: bool, gradients: GradientsCore | None, "
              "top: int) -> FigureCore"));
}

}  // namespace attend_python
