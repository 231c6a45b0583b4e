#include "steps/weights_figure.h"

#include <cmath>
#include <string>

#include "base/error.h"

namespace attend::steps {
namespace {

std::string head_title(const Walk& walk, std::int64_t head) {
  return walk.heads == 1 ? std::string("Who (rows) looks at whom (columns)")
                         : joined("Head ", head + 1, ": who (rows) looks at whom (columns)");
}

draw::Bars row_bars(const Lesson& lesson, const Walk& walk, std::int64_t head, std::int64_t row) {
  draw::Bars bars;
  const std::string& token = lesson.tokens[static_cast<std::size_t>(row)];
  bars.title = walk.heads == 1 ? joined("Where “", token, "” looks")
                               : joined("Where “", token, "” looks in head ", head + 1);
  const Tensor weights = copy_of(walk.weights.view().select(0, head).select(0, row));
  for (std::int64_t key = 0; key < walk.keys; ++key) {
    const auto place = static_cast<std::size_t>(key);
    bars.bars.push_back({lesson.key_tokens[place], weights.values<double>()[place]});
  }
  bars.full_length = 1;
  return bars;
}

}  // namespace

draw::Heatmap weights_map(const Lesson& lesson, const Walk& walk, std::int64_t head) {
  draw::Heatmap map;
  map.rows = static_cast<std::size_t>(walk.queries);
  map.columns = static_cast<std::size_t>(walk.keys);
  map.row_labels = lesson.tokens;
  map.column_labels = lesson.key_tokens;
  const Tensor values = copy_of(walk.weights.view().select(0, head));
  map.values.assign(values.values<double>().begin(), values.values<double>().end());
  if (lesson.causal) {
    const Tensor biased = copy_of(walk.biased.view().select(0, head));
    for (const double value : biased.values<double>()) map.masked.push_back(std::isinf(value));
  }
  map.range = {0, draw::range_of(map).high};
  return map;
}

draw::Figure lesson_figure(const Lesson& lesson, const Walk& walk, std::optional<std::int64_t> focus) {
  draw::Figure figure{.title = lesson.title, .parts = {}, .notes = {}};
  for (std::int64_t head = 0; head < walk.heads; ++head) {
    draw::Heatmap map = weights_map(lesson, walk, head);
    map.title = head_title(walk, head);
    map.value_label = "weight";
    if (focus) map.focus_row = static_cast<std::size_t>(*focus);
    figure.parts.push_back(std::move(map));
    if (focus) figure.parts.push_back(row_bars(lesson, walk, head, *focus));
  }
  if (!lesson.note.empty()) figure.notes.push_back(lesson.note);
  return figure;
}

}  // namespace attend::steps
