#include <attend/lens_change.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/counting.h"

namespace attend {
namespace {

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

[[noreturn]] void not_understood(std::string_view text) {
  refuse("lens", "\"", text,
         "\" is not an edit: expected LAYER, LAYER.HEAD, WORD>WORD or LAYER.HEAD:WORD>WORD, each "
         "with or without =SCALE");
}

struct Place {
  std::optional<std::int64_t> layer{}, head{};
};

Place parse_place(const Reading& reading, std::string_view text, std::string_view whole) {
  const std::size_t dot = text.find('.');
  Place place{.layer = number_in<std::int64_t>(text.substr(0, dot))};
  if (dot != text.npos) place.head = number_in<std::int64_t>(text.substr(dot + 1));
  if (!place.layer || (dot != text.npos && !place.head)) not_understood(whole);
  require_number("lens", "layer", *place.layer, reading.layers());
  if (place.head) require_number("lens", "head", *place.head, reading.heads());
  return place;
}

}  // namespace

PassEdits parse_edit(const Reading& reading, std::string_view text) {
  std::string_view rest = text;
  double scale = 0;
  // "=0.5" at the end; a word may have an = in it.
  if (const std::size_t equals = rest.rfind('='); equals != rest.npos) {
    if (const auto given = number_in<double>(rest.substr(equals + 1))) {
      if (!std::isfinite(*given)) refuse("lens", "the scale of \"", text, "\" is not finite");
      scale = *given;
      rest = rest.substr(0, equals);
    }
  }
  const std::size_t arrow = rest.find('>');
  PassEdits edits;
  if (arrow == rest.npos) {
    const Place place = parse_place(reading, rest, text);
    for (std::int64_t head = 1; head <= reading.heads(); ++head) {
      if (!place.head || head == *place.head)
        edits.heads.push_back({.layer = *place.layer, .head = head, .scale = scale});
    }
    return edits;
  }
  Place place;
  const std::size_t colon = rest.find(':');
  std::size_t words = 0;
  if (colon != rest.npos && colon < arrow) {
    place = parse_place(reading, rest.substr(0, colon), text);
    words = colon + 1;
  }
  const Word& from = reading.words()[find_word(reading.words(), rest.substr(words, arrow - words))];
  const Word& to = reading.words()[find_word(reading.words(), rest.substr(arrow + 1))];
  for (std::int64_t query = from.first_token; query < from.last_token; ++query) {
    for (std::int64_t key = to.first_token; key < to.last_token; ++key) {
      edits.edges.push_back({.layer = place.layer.value_or(EdgeEdit::kEveryLayer),
                             .head = place.head.value_or(EdgeEdit::kEveryHead),
                             .query = query,
                             .key = key,
                             .scale = scale});
    }
  }
  return edits;
}

}  // namespace attend
