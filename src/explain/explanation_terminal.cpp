#include "draw/bars_terminal.h"
#include "draw/heatmap_terminal.h"
#include "draw/prose.h"
#include "draw/text_width.h"
#include "explain/explanation.h"
#include "explain/phrases.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace attend::explain {
namespace {

constexpr std::size_t kMostBars = 8;
constexpr int kIndent = 2;

std::string facts(const Reading& reading, const ExplainRequest& request) {
  const auto words = std::count_if(reading.words().begin(), reading.words().end(),
                                   [](const Word& word) { return !word.special; });
  return joined(draw::printable(reading.model().files().name), ": ", counted(words, "word"), ", ",
                counted(reading.size(), "token"), "; ", name_of_heads(reading, request.heads), ".");
}

draw::Heatmap heatmap_of(const Explanation& explanation, LensMethod method) {
  draw::Heatmap map;
  map.title = method == LensMethod::raw ? "Who (rows) looks at whom (columns)"
                                        : "Who (rows) takes how much from whom (columns)";
  map.rows = map.columns = explanation.units.size();
  map.row_labels = map.column_labels = labels_of(explanation.units);
  const auto values = explanation.map.values<double>();
  map.values.assign(values.begin(), values.end());
  map.range = {0, draw::range_of(map).high};
  return map;
}

// The largest of a row, best first.
draw::Bars bars_of(const std::string& title, const std::vector<double>& row,
                   const std::vector<std::string>& labels) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
  draw::Bars bars{.title = title, .bars = {}};
  for (std::size_t i = 0; i < std::min(order.size(), kMostBars); ++i)
    bars.bars.push_back({labels[order[i]], row[order[i]], i == 0});
  return bars;
}

std::string about_special(const Explanation& explanation, LensMethod method) {
  return joined(list_of(explanation.left_out), method == LensMethod::raw ? " got " : " gave ",
                percent(explanation.special_share),
                method == LensMethod::raw ? " of the attention" : " of what was taken",
                ", on average. They stand for no word and are left out here, so that each row adds up to 1 "
                "without them; --special shows them.");
}

std::string focus_text(const Explanation& explanation, const draw::Terminal& terminal) {
  const Focus& focus = *explanation.focus;
  const std::vector<std::string> labels = labels_of(explanation.units);
  const std::string name = in_quotes(labels[focus.unit]);
  draw::Terminal inner = terminal;
  inner.width -= kIndent;
  const auto of_special = [&](double share, const char* verb) {
    return explanation.left_out.empty()
               ? std::string()
               : joined(" (", percent(share), verb, list_of(explanation.left_out), ")");
  };
  std::string text = "\n";
  text += draw::heading(joined("Where ", name, " looks", of_special(focus.looks_at_special, " went to ")),
                        terminal);
  text += draw::indent(draw::render_bars(bars_of("", focus.looks, labels), inner), kIndent);
  text += "\n";
  text += draw::heading(joined("What ", name, " takes", of_special(focus.takes_from_special, " came from ")),
                        terminal);
  text += draw::indent(draw::render_bars(bars_of("", focus.takes, labels), inner), kIndent);
  text += "\n";
  text += draw::paragraph(
      "What it takes is the length of weight × value × Wo: a large weight on a short value brings little.",
      terminal);
  return text;
}

}  // namespace

std::string explanation_text(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation, const draw::Terminal& terminal) {
  std::string text = draw::heading(draw::printable(reading.text().substr(0, 400)), terminal);
  text += draw::paragraph(facts(reading, request), terminal) + "\n";
  text += draw::render_heatmap(heatmap_of(explanation, request.method), terminal, {.most_decimals = 2});
  text += "\n";
  if (!explanation.left_out.empty())
    text += draw::paragraph(about_special(explanation, request.method), terminal);
  if (explanation.focus) text += focus_text(explanation, terminal);
  text += draw::paragraph(
      "Weights say where heads read, not why the model gives its answer: they are not by themselves an "
      "explanation.",
      terminal);
  return text;
}

}  // namespace attend::explain
