#include "explain/phrases.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "draw/number.h"
#include "draw/prose.h"
#include "draw/text_width.h"

namespace attend::explain {

std::string percent(double share) {
  if (!std::isfinite(share)) return draw::format_short(share);
  char text[32];
  std::snprintf(text, sizeof text, share > 0 && share < 0.095 ? "%.1f%%" : "%.0f%%", 100 * share);
  return text;
}

std::string name_of_head(const Reading& reading, std::int64_t layer, std::int64_t head) {
  const std::int64_t key_heads = reading.key_heads(layer);
  if (key_heads == reading.heads()) return std::to_string(head);
  return joined(head, " (keys ", reading.key_head(layer, head), " of ", key_heads, ")");
}

std::int64_t heads_of_a_group(const Reading& reading) {
  const std::int64_t key_heads = reading.key_heads(1);
  for (std::int64_t layer = 2; layer <= reading.layers(); ++layer) {
    if (reading.key_heads(layer) != key_heads) return 1;
  }
  return reading.heads() / key_heads;
}

std::string name_of_query(const Reading& reading, const LensQuery& query) {
  const HeadChoice& heads = query.heads;
  if (query.method == LensMethod::rollout || query.method == LensMethod::flow)
    return joined(name_of(query.method), " through layers 1 to ",
                  reading.layer_name(heads.layer.value_or(reading.layers())));
  if (query.method == LensMethod::grad) {
    LensQuery plain = query;
    plain.method = LensMethod::raw;
    return joined("weight × gradient, ", name_of_query(reading, plain));
  }
  if (heads.head) {
    return joined("layer ", reading.layer_name(*heads.layer), ", head ",
                  name_of_head(reading, *heads.layer, *heads.head));
  }
  if (heads.layer)
    return joined("layer ", reading.layer_name(*heads.layer), ", mean of ", counted(reading.heads(), "head"));
  return joined("mean of ", counted(reading.layers(), "layer"), " × ", counted(reading.heads(), "head"));
}

std::string title_of(const Reading& reading) {
  const std::string& answer = reading.answer();
  if (answer.empty() && reading.second().empty()) return reading.text();
  return joined(reading.text(), reading.has_source() ? " → " : " + ",
                answer.empty() ? reading.second() : answer);
}

std::string title_of(const Reading& reading, const Explanation& explanation) {
  return explanation.windows ? explanation.windows->text : title_of(reading);
}

std::string answer_note(const Reading& reading) {
  const std::string& answer = reading.answer();
  if (answer.size() <= reading.second().size() || !answer.starts_with(reading.second())) return {};
  const std::size_t start = answer.find_first_not_of(' ', reading.second().size());
  if (start == answer.npos) return {};
  return joined("The end of the answer, ", in_quotes(std::string_view(answer).substr(start)),
                ", has no row: it was written last, and nothing was read after it.");
}

std::string list_of(const std::vector<Word>& words) {
  std::vector<std::string> names;
  for (const Word& word : words) {
    if (std::find(names.begin(), names.end(), word.text) == names.end()) names.push_back(word.text);
  }
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " and " : ", ";
    list += draw::shorten(draw::printable(names[i]), 24);
  }
  return list;
}

std::string unknown_note(const std::vector<Word>& units) {
  if (std::none_of(units.begin(), units.end(), [](const Word& unit) { return unit.unknown; })) return {};
  return joined(kUnknownMark,
                " marks words that the model does not know: it cannot tell them from one another.");
}

std::string name_of_edit(const Reading& reading, std::string_view edit) {
  const auto place = [&](std::string_view text) {  // "4", "4.2"
    const std::size_t dot = std::min(text.find('.'), text.size());
    std::int64_t layer = 0;
    std::from_chars(text.data(), text.data() + dot, layer);
    const std::string of = joined("layer ", reading.layer_name(layer));
    return dot == text.size() ? of : joined("head ", text.substr(dot + 1), " of ", of);
  };
  std::string_view scale;
  if (const std::size_t equals = edit.rfind('='); equals != edit.npos) {
    double number = 0;
    const std::string_view given = edit.substr(equals + 1);
    if (std::from_chars(given.data(), given.data() + given.size(), number).ptr ==
        given.data() + given.size()) {
      scale = given;
      edit = edit.substr(0, equals);
    }
  }
  std::string what;
  if (const std::size_t arrow = edit.find('>'); arrow == edit.npos) {
    what = place(edit);
  } else {
    const std::size_t colon = edit.find(':'), words = colon < arrow ? colon + 1 : 0;
    what = joined("the link from ", draw::in_quotes(edit.substr(words, arrow - words)), " to ",
                  draw::in_quotes(edit.substr(arrow + 1)));
    if (words > 0) what += joined(" in ", place(edit.substr(0, colon)));
  }
  return scale.empty() || scale == "0" ? joined("without ", what) : joined("with ", what, " × ", scale);
}

std::vector<std::string> labels_of(const std::vector<Word>& units) {
  std::map<std::string_view, int> total, seen;
  for (const Word& unit : units) ++total[unit.text];
  std::vector<std::string> labels;
  for (const Word& unit : units) {
    labels.push_back(total[unit.text] == 1 ? unit.text : joined(unit.text, '#', ++seen[unit.text]));
    if (unit.unknown) labels.back() += kUnknownMark;
  }
  return labels;
}

}  // namespace attend::explain
