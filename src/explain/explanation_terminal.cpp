#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "draw/bars_terminal.h"
#include "draw/heatmap_terminal.h"
#include "draw/number.h"
#include "draw/prose.h"
#include "draw/table.h"
#include "draw/text_width.h"
#include "explain/explanation.h"
#include "explain/phrases.h"

namespace attend::explain {
namespace {

constexpr int kIndent = 2;

std::string facts(const Reading& reading, const ExplainRequest& request) {
  const auto words = std::count_if(reading.words().begin(), reading.words().end(),
                                   [](const Word& word) { return !word.special; });
  return joined(draw::printable(reading.model().files().name), ": ", counted(words, "word"), ", ",
                counted(reading.size(), "token"), "; ", name_of_query(reading, request.query), ".");
}

std::string map_title(LensMethod method) {
  switch (method) {
    case LensMethod::norm:
      return "Who (rows) takes how much from whom (columns)";
    case LensMethod::rollout:
      return "Of whom (columns) how much has arrived at whom (rows)";
    default:
      return "Who (rows) looks at whom (columns)";
  }
}

draw::Heatmap heatmap_of(const Explanation& explanation, LensMethod method) {
  draw::Heatmap map;
  map.title = map_title(method);
  map.rows = map.columns = explanation.units.size();
  map.row_labels = map.column_labels = labels_of(explanation.units);
  const auto values = explanation.map.values<double>();
  map.values.assign(values.begin(), values.end());
  map.range = {0, draw::range_of(map).high};
  return map;
}

std::string about_special(const Explanation& explanation, LensMethod method) {
  return joined(list_of(explanation.left_out), method == LensMethod::raw ? " got " : " gave ",
                percent(explanation.special_share),
                method == LensMethod::raw ? " of the attention" : " of what was taken",
                ", on average. They stand for no word and are left out here, so that each row adds up to 1 "
                "without them; --special shows them.");
}

class Writer {
 public:
  Writer(const ExplainRequest& request, const Explanation& explanation, const draw::Terminal& terminal)
      : request_(request), explanation_(explanation), terminal_(terminal), inner_(terminal) {
    inner_.width -= kIndent;
  }

  std::string focus() {
    for (const FocusRow& row : explanation_.focus->rows) {
      heading(joined(title_of(row.method), special_part(row)));
      bars(row.values);
    }
    text_ += "\n";
    say("What it takes is the length of weight × value × Wo: a large weight on a short value brings little.");
    return std::move(text_);
  }

  std::string links() {
    heading(joined("Which heads link ", in_quotes(*request_.focus), " to ", in_quotes(*request_.to)));
    draw::Table table;
    table.columns = {{"layer"}, {"head"}, {"weight"}, {"share of words"}};
    for (std::size_t i = 0; i < std::min(request_.top, explanation_.links.size()); ++i) {
      const HeadLink& link = explanation_.links[i];
      table.rows.push_back({"",
                            {std::to_string(link.layer), std::to_string(link.head + 1), number(link.weight),
                             number(link.share)}});
    }
    text_ += draw::indent(draw::render_table(table, inner_), kIndent);
    return std::move(text_);
  }

  std::string profiles() {
    heading("What each head does with this text");
    draw::Table table;
    table.columns = {{"layer"},   {"head"},   {"previous"},
                     {"next"},    {"itself"}, {"same word"},
                     {"special"}, {"broad"},  {"habit", draw::Align::left}};
    for (const HeadProfile& profile : explanation_.profiles) {
      table.rows.push_back(
          {"",
           {std::to_string(profile.layer), std::to_string(profile.head + 1), percent(profile.previous),
            percent(profile.next), percent(profile.same_token), percent(profile.same_word),
            percent(profile.separator), percent(profile.broad), std::string(habit_of(profile))}});
    }
    text_ += draw::indent(draw::render_table(table, inner_, explanation_.profiles.size()), kIndent);
    text_ += "\n";
    say("Shares of the weight, on average over the tokens of the text; broad: how evenly it is spread, 100% "
        "being "
        "all alike.");
    return std::move(text_);
  }

 private:
  void heading(const std::string& title) { text_ += "\n" + draw::heading(title, terminal_); }
  void say(const std::string& sentence) { text_ += draw::paragraph(sentence, terminal_); }
  static std::string number(double value) { return draw::format_number(value, {.decimals = 4}); }

  std::string title_of(LensMethod method) const {
    const std::string name = in_quotes(labels_of(explanation_.units)[explanation_.focus->unit]);
    switch (method) {
      case LensMethod::raw:
        return joined("Where ", name, " looks");
      case LensMethod::norm:
        return joined("What ", name, " takes");
      case LensMethod::rollout:
        return joined("Where ", name, " comes from, over all paths");
      case LensMethod::flow:
        return joined("How much could flow to ", name);
    }
    return {};
  }

  std::string special_part(const FocusRow& row) const {
    if (explanation_.left_out.empty() || row.method == LensMethod::flow) return {};
    return joined(" (", percent(row.special), row.method == LensMethod::raw ? " went to " : " came from ",
                  list_of(explanation_.left_out), ")");
  }

  // The largest of a row, best first.
  void bars(const std::vector<double>& row) {
    const std::vector<std::string> labels = labels_of(explanation_.units);
    std::vector<std::size_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
    draw::Bars bars;
    for (std::size_t i = 0; i < std::min(order.size(), request_.top); ++i)
      bars.bars.push_back({labels[order[i]], row[order[i]], i == 0});
    text_ += draw::indent(draw::render_bars(bars, inner_), kIndent);
  }

  const ExplainRequest& request_;
  const Explanation& explanation_;
  draw::Terminal terminal_, inner_;
  std::string text_;
};

}  // namespace

std::string explanation_text(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation, const draw::Terminal& terminal) {
  std::string text = draw::heading(draw::printable(reading.text().substr(0, 400)), terminal);
  text += draw::paragraph(facts(reading, request), terminal);
  if (explanation.map.count() > 0) {
    text += "\n" + draw::render_heatmap(heatmap_of(explanation, request.query.method), terminal,
                                        {.most_decimals = 2});
    text += "\n";
    if (!explanation.left_out.empty())
      text += draw::paragraph(about_special(explanation, request.query.method), terminal);
  }
  if (explanation.focus) text += Writer(request, explanation, terminal).focus();
  if (!explanation.links.empty()) text += Writer(request, explanation, terminal).links() + "\n";
  if (!explanation.profiles.empty()) text += Writer(request, explanation, terminal).profiles();
  text += draw::paragraph(
      "Weights say where heads read, not why the model gives its answer: they are not by themselves an "
      "explanation.",
      terminal);
  return text;
}

}  // namespace attend::explain
