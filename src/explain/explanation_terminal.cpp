#include "explain/explanation_terminal.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/largest_first.h"
#include "draw/bars_terminal.h"
#include "draw/figure_terminal.h"
#include "draw/number.h"
#include "draw/prose.h"
#include "draw/table.h"
#include "draw/text_width.h"
#include "explain/phrases.h"

namespace attend::explain {
namespace {

constexpr int kIndent = 2;

std::string facts(const Reading& reading, const ExplainRequest& request, const Explanation& explanation,
                  View view) {
  const std::string name = draw::printable(reading.model_name()),
                    query = name_of_view(reading, request, view);
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

std::string links_text(const Reading& reading, std::string title, const std::vector<HeadLink>& links,
                       const ExplainRequest& request, const draw::Terminal& terminal) {
  const auto number = [](double value) { return draw::format_number(value, {.decimals = 4}); };
  draw::Table table;
  table.title = std::move(title);
  table.columns = {{"layer"}, {"head"}, {"weight"}, {"share of words"}};
  for (std::size_t i = 0; i < std::min(request.top, links.size()); ++i) {
    const HeadLink& link = links[i];
    table.rows.push_back({"",
                          {reading.layer_name(link.layer), name_of_head(reading, link.layer, link.head),
                           number(link.weight), number(link.share)}});
  }
  return "\n" + draw::render_table(table, terminal) + "\n";
}

std::string relation_title(const Reading& reading, const Relation& relation) {
  const std::vector<std::string> labels = labels_of(reading.words());
  std::string pairs;
  for (const WordRelation& pair : relation.pairs) {
    pairs.append(pairs.empty() ? "" : ", ");
    pairs.append(in_quotes(labels[pair.from])).append(" to ").append(in_quotes(labels[pair.to]));
  }
  const std::string name = draw::shorten(draw::printable(relation.name), 40);
  return joined("Which heads link ", name, relation.pairs.size() > 1 ? ", the mean of " : ": ", pairs);
}

std::string profiles_text(const Reading& reading, const Explanation& explanation,
                          const draw::Terminal& terminal) {
  draw::Table table;
  table.title = "What each head does with this text";
  table.columns = {{"layer"},   {"head"},   {"previous"},
                   {"next"},    {"itself"}, {"same word"},
                   {"special"}, {"broad"},  {"habit", draw::Align::left}};
  // Of a model that writes: what comes after a token is not seen, and what came before may come again.
  const bool writes = reading.is_causal();
  if (writes) {
    table.columns[3] = {"first"};
    table.columns[6] = {"duplicate"};
    table.columns.insert(table.columns.begin() + 7, {"induction"});
  }
  for (const HeadProfile& profile : explanation.profiles) {
    std::vector<std::string> cells = {
        reading.layer_name(profile.layer), name_of_head(reading, profile.layer, profile.head),
        percent(profile.previous),         percent(writes ? profile.first : profile.next),
        percent(profile.same_token),       percent(profile.same_word)};
    if (writes) {
      cells.push_back(percent(profile.duplicate));
      cells.push_back(percent(profile.induction));
    } else {
      cells.push_back(percent(profile.separator));
    }
    cells.push_back(percent(profile.broad));
    cells.emplace_back(habit_of(profile));
    table.rows.push_back({"", std::move(cells)});
  }
  std::string legend =
      "Shares of the weight, averaged over the tokens of the text; broad: how evenly it is "
      "spread, 100% being uniform.";
  if (heads_of_a_group(reading) > 1) legend += " Heads with the same keys share keys and values.";
  return "\n" + draw::render_table(table, terminal, explanation.profiles.size()) + "\n" +
         draw::paragraph(legend, terminal);
}

std::string change_text(const Reading& reading, const ExplainRequest& request, const OutputChange& change,
                        const draw::Terminal& terminal) {
  constexpr std::size_t kMostWords = 8;
  const auto number = [](double value) { return draw::format_number(value, {.decimals = 4}); };
  std::string without;
  for (const std::string& edit : request.ablate)
    without.append(without.empty() ? "" : ", ").append(draw::shorten(draw::printable(edit), 40));
  std::string text = "\n" + draw::heading(joined("Without ", without), terminal);
  text += draw::paragraph(
      joined("The vector of the text moves by ", percent(change.text_distance),
             " of its length; the cosine with what it was is ", number(change.text_cosine), "."),
      terminal);
  std::vector<std::size_t> order;
  for (std::size_t w = 0; w < reading.words().size(); ++w) order.push_back(w);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return larger_first(-change.word_cosines[a], -change.word_cosines[b]);
  });
  const std::vector<std::string> labels = labels_of(reading.words());
  draw::Table table;
  table.label_header = "word";
  table.columns = {{"cosine, before and after"}};
  for (std::size_t i = 0; i < std::min(order.size(), kMostWords); ++i)
    table.rows.push_back({labels[order[i]], {number(change.word_cosines[order[i]])}});
  return text + draw::indent(draw::render_table(table, terminal), kIndent) + "\n";
}

std::string guesses_text(const Reading& reading, const Explanation& explanation,
                         const draw::Terminal& terminal) {
  draw::Terminal inner = terminal;
  inner.width -= kIndent;
  draw::Bars bars;
  for (const TokenGuess& guess : explanation.guesses) {
    const std::string word = reading.model().tokenizer().decode(std::span(&guess.token, 1), false);
    bars.bars.push_back({draw::printable(word), guess.probability, bars.bars.empty()});
  }
  return "\n" + draw::heading("What the model expects there", terminal) +
         draw::indent(draw::render_bars(bars, inner), kIndent);
}

}  // namespace

std::string explanation_text(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation, View view, const draw::Terminal& terminal) {
  constexpr std::size_t kMostOfText = 400;
  std::string text =
      draw::heading(draw::printable(title_of(reading, explanation).substr(0, kMostOfText)), terminal);
  text += draw::paragraph(facts(reading, request, explanation, view), terminal);
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
  if (!explanation.guesses.empty()) text += guesses_text(reading, explanation, terminal);
  if (!explanation.links.empty()) {
    text += links_text(reading,
                       joined("Which heads link ", in_quotes(*request.focus), " to ", in_quotes(*request.to)),
                       explanation.links, request, terminal);
  }
  for (const RelationHeads& one : explanation.relations)
    text += links_text(reading, relation_title(reading, one.relation), one.links, request, terminal);
  if (!explanation.profiles.empty()) text += profiles_text(reading, explanation, terminal);
  if (explanation.change) text += change_text(reading, request, *explanation.change, terminal);
  if (const std::string note = not_finite_note(reading, explanation); !note.empty())
    text += draw::paragraph(draw::printable(note), terminal);
  return text + draw::paragraph(caution(), terminal);
}

}  // namespace attend::explain
