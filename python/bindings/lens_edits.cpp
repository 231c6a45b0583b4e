#include "lens_edits.h"

#include "base/counting.h"
#include "errors.h"
#include "numbers.h"
#include "text.h"

namespace attend_python {
namespace {

namespace nb = nanobind;

// thing: "layer" or "head", as the attribute is called.
std::optional<std::int64_t> number_of(nb::handle edit, const char* thing, std::int64_t count) {
  const std::optional<std::int64_t> number = optional_integer_from(edit.attr(thing), thing);
  if (number && !attend::is_number(*number, count))
    refuse_value(attend::out_of_count(thing, thing, *number, count));
  return number;
}

void add_head(const LensReading& reading, nb::handle edit, double scale, attend::PassEdits& edits) {
  const auto layer = number_of(edit, "layer", reading->layers());
  const auto head = number_of(edit, "head", reading->heads());
  if (!layer) refuse_value("layer of a HeadEdit is None");
  for (std::int64_t number = 1; number <= reading->heads(); ++number) {
    if (!head || number == *head) edits.heads.push_back({.layer = *layer, .head = number, .scale = scale});
  }
}

void add_link(const LensReading& reading, nb::handle edit, double scale, attend::PassEdits& edits) {
  const auto layer = number_of(edit, "layer", reading->layers());
  const auto head = number_of(edit, "head", reading->heads());
  if (head && !layer) refuse_value("head ", *head, " of which layer?");
  const attend::Word& from = reading->words()[word_from(edit.attr("from_word"), reading->words())];
  const attend::Word& to = reading->words()[word_from(edit.attr("to_word"), reading->words())];
  for (std::int64_t query = from.first_token; query < from.last_token; ++query) {
    for (std::int64_t key = to.first_token; key < to.last_token; ++key) {
      edits.edges.push_back({.layer = layer.value_or(attend::EdgeEdit::kEveryLayer),
                             .head = head.value_or(attend::EdgeEdit::kEveryHead),
                             .query = query,
                             .key = key,
                             .scale = scale});
    }
  }
}

}  // namespace

attend::PassEdits edits_from(const LensReading& reading, nb::handle given) {
  attend::PassEdits edits;
  for (const nb::handle edit : given) {
    if (PyUnicode_Check(edit.ptr())) {
      const attend::PassEdits one = attend::parse_edit(*reading, text_of(edit, "an edit"));
      edits.heads.insert(edits.heads.end(), one.heads.begin(), one.heads.end());
      edits.edges.insert(edits.edges.end(), one.edges.begin(), one.edges.end());
      continue;
    }
    if (!nb::hasattr(edit, "scale") || !nb::hasattr(edit, "layer"))
      refuse_type("an edit is neither a str nor a HeadEdit nor a LinkEdit");
    const double scale = number_from(edit.attr("scale"), "scale");
    if (nb::hasattr(edit, "to_word")) {
      add_link(reading, edit, scale, edits);
    } else {
      add_head(reading, edit, scale, edits);
    }
  }
  return edits;
}

}  // namespace attend_python
