// The interactive page of a reading, as `attend explain -o page.html` writes it.
#include <attend/lens_notable.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "compute.h"
#include "errors.h"
#include "lens.h"
#include "numbers.h"
#include "page/self_contained.h"

namespace attend_python {
namespace {

namespace nb = nanobind;

std::string lens_page(const LensReading& reading, nb::handle view_given, nb::handle method, nb::handle layer,
                      nb::handle head, nb::handle focus, nb::handle tokens_given, nb::handle special_given,
                      nb::handle sink, nb::handle mean_given) {
  const std::string view = choice_from(view_given, "view", {"map", "lines", "model"});
  const bool tokens = flag_from(tokens_given, "tokens"), special = flag_from(special_given, "special");
  const std::string way = choice_from(method, "method", {"raw", "norm", "rollout"});
  const bool mean = flag_from(mean_given, "mean");
  attend::page::FirstView first{
      .tab = view,
      .method = *attend::lens_method_named(way),
      .heads = head_choice_from(layer, head),
      .tokens = tokens,
      .special = special,
      .sink = sink_from(sink),
      .focus = focus.is_none() ? std::nullopt
                               : std::optional(word_from(
                                     focus, tokens ? attend::single_tokens(*reading) : reading->words()))};
  if (reading->size() > attend::page::kMostTokens)
    refuse_value("the text has ", reading->size(), " tokens, but a page holds at most ",
                 attend::page::kMostTokens);
  const Computing computing;
  // Where no head is named, the one that says most about this text, as in the program.
  if (!mean && !first.heads.layer && view != "model" && way != "rollout") {
    const std::vector<attend::NotableHead> notable =
        attend::notable_heads(*reading, tokens ? std::nullopt : first.focus, 1);
    if (!notable.empty()) first.heads = {.layer = notable[0].layer, .head = notable[0].head};
  }
  return attend::page::self_contained_page(*reading, first);
}

}  // namespace

void bind_lens_page(nb::module_& module) {
  module.def(
      "lens_page", &lens_page, nb::arg("reading"), nb::arg("view").none(), nb::arg("method").none(),
      nb::arg("layer").none(), nb::arg("head").none(), nb::arg("focus").none(), nb::arg("tokens").none(),
      nb::arg("special").none(), nb::arg("sink").none(), nb::arg("mean").none(),
      nb::sig("def lens_page(reading: ReadingCore, view: str, method: str, layer: int | None, head: int | "
              "None, focus: str | int | None, tokens: bool, special: bool, sink: str, mean: bool) -> str"));
}

}  // namespace attend_python
