#include "explain/explanation_terminal.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/largest_first.h"
#include "draw/bars_terminal.h"
#include "draw/figure_terminal.h"
#include "draw/prose.h"
#include "draw/text_width.h"
#include "explain/explanation_lists.h"
#include "explain/phrases.h"

namespace attend::explain {
namespace {

constexpr int kIndent = 2;

std::string facts(const Reading& reading, const ExplainRequest& request, const Explanation& explanation,
                  View view) {
  const std::string name = draw::printable(reading.model_name()),
                    query = name_of_view(reading, request.query, view);
  if (const auto& windows = explanation.windows) {
    return joined(name, ": ", counted(windows->words, "word"), ", ",
                  counted(static_cast<std::int64_t>(windows->ids.size()), "token"), " in ",
                  counted(static_cast<std::int64_t>(windows->ranges.size()), "window"), "; ", query, ".");
  }
  const auto words = std::count_if(reading.words().begin(), reading.words().end(),
                                   [](const Word& word) { return !word.special; });
  return joined(name, ": ", counted(words, "word"), ", ", counted(reading.size(), "token"), "; ", query, ".");
}

// A map that has no room for its names says too little: the words that are looked at most, by name.
std::string received_text(const ExplainRequest& request, const Explanation& explanation,
                          const draw::Terminal& terminal) {
  constexpr int kColumnsOfACell = 2, kLabels = 12;  // of the narrowest map with names
  const int columns = kColumnsOfACell * static_cast<int>(explanation.map_units.size()) + kLabels;
  if (explanation.map.count() == 0 || columns <= terminal.width) return {};
  draw::Terminal inner = terminal;
  inner.width -= kIndent;
  return "\n" + draw::heading(std::string(kReceivedTitle), terminal) +
         draw::indent(draw::render_bars(received_bars(explanation, request.top), inner), kIndent);
}

std::string focus_text(const ExplainRequest& request, const Explanation& explanation,
                       const draw::Terminal& terminal) {
  draw::Terminal inner = terminal;
  inner.width -= kIndent;
  std::string text;
  for (const FocusRow& row : explanation.focus->rows) {
    text += "\n" + draw::heading(focus_title(explanation, request, row), terminal);
    text += draw::indent(draw::render_bars(focus_bars(explanation, row, request.top), inner), kIndent);
  }
  const auto takes = [](const FocusRow& row) { return row.method == LensMethod::norm; };
  if (std::none_of(explanation.focus->rows.begin(), explanation.focus->rows.end(), takes)) return text;
  text += "\n";
  return text + draw::paragraph(
                    "What it takes is the length of weight × value × Wo: a large weight on a short "
                    "value contributes little.",
                    terminal);
}

}  // namespace

std::string explanation_text(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation, View view, const draw::Terminal& terminal) {
  constexpr std::size_t kMostOfText = 400;
  std::string text =
      draw::heading(draw::printable(title_of(reading, explanation).substr(0, kMostOfText)), terminal);
  text += draw::paragraph(facts(reading, request, explanation, view), terminal);
  if (const std::string note = chosen_note(reading, request, explanation); !note.empty())
    text += draw::paragraph(note + " --mean shows the mean of all, --view model each of them.", terminal);
  if (view != View::map || explanation.map.count() > 0) {
    draw::Figure figure;
    figure.parts.push_back(main_part(reading, request, explanation, view));
    text += "\n" + draw::render_figure(figure, terminal,
                                       {.most_decimals = request.query.method == LensMethod::grad ? 3 : 2});
  }
  if (view == View::map || view == View::lines) text += received_text(request, explanation, terminal);
  for (const std::string& note : notes_on(reading, request, explanation))
    text += "\n" + draw::paragraph(note, terminal);
  if (explanation.focus) text += focus_text(request, explanation, terminal);
  for (const ListPart& list : list_parts(reading, request, explanation)) {
    text += "\n" + draw::render_figure({.title = {}, .parts = {list.part}, .notes = {}}, terminal);
    if (!list.note.empty()) text += "\n" + draw::paragraph(list.note, terminal);
  }
  text += "\n";
  if (const std::string note = not_finite_note(reading, explanation); !note.empty())
    text += draw::paragraph(draw::printable(note), terminal);
  return text + draw::paragraph(caution(), terminal);
}

}  // namespace attend::explain
