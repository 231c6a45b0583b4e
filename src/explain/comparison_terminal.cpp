#include <algorithm>

#include "base/error.h"
#include "draw/bars_terminal.h"
#include "draw/number.h"
#include "draw/plot_terminal.h"
#include "draw/prose.h"
#include "draw/table.h"
#include "draw/text_width.h"
#include "explain/comparison.h"
#include "explain/phrases.h"

namespace attend::explain {
namespace {

constexpr std::size_t kMostBars = 5;
constexpr int kComparisonIndent = 2, kPlotLines = 8;

// Occurrences are numbered from 1.
std::string pair_name(const OccurrencePair& pair) { return joined(pair.first + 1, " and ", pair.second + 1); }

std::string occurrence_name(const Comparison& comparison, std::size_t index) {
  const Occurrence& occurrence = comparison.occurrences[index];
  return joined(index + 1, ": ", in_quotes(occurrence.reading->words()[occurrence.word].text));
}

std::string cosine_text(double value) { return draw::format_number(value, {.decimals = 4}); }

draw::Table table_of(const Comparison& comparison) {
  draw::Table table;
  table.title =
      comparison.pairs.size() == 1 ? "How similar they are (cosine)" : "How similar each pair is (cosine)";
  table.label_header = "layer";
  for (const OccurrencePair& pair : comparison.pairs)
    table.columns.push_back({comparison.pairs.size() == 1 ? "" : pair_name(pair), draw::Align::right});
  table.columns.push_back({"", draw::Align::left});
  const auto row = [&](std::string label, const auto& value, const char* note) {
    draw::TableRow line{std::move(label), {}};
    for (const OccurrencePair& pair : comparison.pairs) line.cells.push_back(cosine_text(value(pair)));
    line.cells.emplace_back(note);
    table.rows.push_back(std::move(line));
  };
  row(
      "static", [](const OccurrencePair& pair) { return pair.static_cosine; },
      "the row of the embedding table");
  for (std::size_t layer = 0; layer < comparison.pairs.front().cosines.size(); ++layer) {
    row(
        std::to_string(layer), [&](const OccurrencePair& pair) { return pair.cosines[layer]; },
        layer == 0 ? "with its position" : "");
  }
  return table;
}

draw::Plot plot_of(const Comparison& comparison) {
  draw::Plot plot;
  plot.x.label = "layer";
  plot.y.label = "cosine";
  for (const OccurrencePair& pair : comparison.pairs) {
    draw::Series series{.name = pair_name(pair), .x = {}, .y = pair.cosines};
    for (std::size_t layer = 0; layer < pair.cosines.size(); ++layer)
      series.x.push_back(static_cast<double>(layer));
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string taken_text(const Comparison& comparison, std::size_t index, const draw::Terminal& terminal) {
  const Taken& taken = comparison.taken[index];
  const std::vector<Word>& words = comparison.occurrences[index].reading->words();
  const std::vector<std::string> labels = labels_of(words);
  draw::Bars bars;
  for (std::size_t i = 0; i < std::min(taken.words.size(), kMostBars); ++i)
    bars.bars.push_back({labels[taken.words[i]], taken.shares[i], i == 0});
  draw::Terminal inner = terminal;
  inner.width -= kComparisonIndent;
  std::string text = "\n";
  text += draw::heading(joined("What moved ", occurrence_name(comparison, index), " (itself ",
                               percent(taken.itself), ", special tokens ", percent(taken.special), ")"),
                        terminal);
  text += draw::indent(draw::render_bars(bars, inner), kComparisonIndent);
  return text;
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const draw::Terminal& terminal) {
  std::string text;
  for (std::size_t i = 0; i < comparison.occurrences.size(); ++i) {
    text += draw::paragraph(joined(occurrence_name(comparison, i), " in ",
                                   draw::printable(comparison.occurrences[i].reading->text().substr(0, 400))),
                            terminal);
  }
  text += "\n" + draw::render_table(table_of(comparison), terminal) + "\n";
  text += draw::render_plot(plot_of(comparison), terminal, kPlotLines);
  for (std::size_t i = 0; i < comparison.occurrences.size(); ++i) text += taken_text(comparison, i, terminal);
  text += "\n";
  for (std::size_t i = 0; i < comparison.occurrences.size(); ++i) {
    const Reading& reading = *comparison.occurrences[i].reading;
    if (!reading.not_finite() || (i > 0 && &reading == comparison.occurrences[i - 1].reading)) continue;
    text += draw::paragraph(
        joined("In text ", i + 1, ": ", draw::printable(sentence_of(reading, *reading.not_finite()))),
        terminal);
  }
  text += draw::paragraph(
      "What moved a word: the length of weight × value × Wo that it took from each of the others, as a share "
      "of all that it took, averaged over layers.",
      terminal);
  return text;
}

}  // namespace attend::explain
