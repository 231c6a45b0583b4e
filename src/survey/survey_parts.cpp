#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "draw/printable.h"
#include "draw/prose.h"
#include "draw/text_width.h"
#include "survey/survey_report.h"

namespace attend::survey {
namespace {

constexpr int kLongestSentence = 120;  // columns

struct Column {
  const char* name;
  Spread SurveyedHead::*spread;
};

// Of a model that writes: what comes after a token is not seen, and what came before may come again.
std::vector<Column> columns_of(const SurveyReport& report) {
  if (report.causal) {
    return {{"previous", &SurveyedHead::previous},   {"first", &SurveyedHead::first},
            {"itself", &SurveyedHead::same_token},   {"same word", &SurveyedHead::same_word},
            {"duplicate", &SurveyedHead::duplicate}, {"induction", &SurveyedHead::induction},
            {"broad", &SurveyedHead::broad}};
  }
  return {{"previous", &SurveyedHead::previous}, {"next", &SurveyedHead::next},
          {"itself", &SurveyedHead::same_token}, {"same word", &SurveyedHead::same_word},
          {"special", &SurveyedHead::separator}, {"broad", &SurveyedHead::broad}};
}

std::string in_percent(double share) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), share > 0 && share < 0.095 ? "%.1f" : "%.0f", 100 * share);
  return text.data();
}

std::string with_spread(const Spread& spread) {
  return joined(in_percent(spread.mean), "±", in_percent(spread.deviation));
}

std::string percent_of(std::int64_t part, std::int64_t whole) {
  return in_percent(whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole)) + "%";
}

const std::string& layer_name(const SurveyReport& report, std::int64_t layer) {
  return report.layer_names[static_cast<std::size_t>(layer - 1)];
}

draw::Table habits_table(const SurveyReport& report) {
  draw::Table table;
  table.title =
      "What each head does, in percent of its weight: the mean over the texts ± the standard deviation";
  table.columns = {{"layer"}, {"head"}};
  const std::vector<Column> columns = columns_of(report);
  for (const Column& column : columns) table.columns.push_back({column.name});
  table.columns.push_back({"habit", draw::Align::left});
  table.columns.push_back({"of texts"});
  for (const SurveyedHead& head : report.heads) {
    std::vector<std::string> cells = {layer_name(report, head.layer), std::to_string(head.head)};
    for (const Column& column : columns) cells.push_back(with_spread(head.*column.spread));
    cells.emplace_back(head.habits.front().habit);
    cells.push_back(percent_of(head.habits.front().texts, report.texts));
    table.rows.push_back({"", std::move(cells)});
  }
  return table;
}

std::string name_of_link(const LinkReport& link) {
  const auto name = [](const WordKinds& kinds) { return draw::shorten(draw::printable(kinds.text()), 40); };
  return joined(name(link.survey.from()), " > ", name(link.survey.to()));
}

draw::Table heads_table(const SurveyReport& report, const LinkReport& link, std::size_t most) {
  draw::Table table;
  table.title =
      joined("Which heads link ", name_of_link(link), " (", draw::counted(link.survey.words(), "word"),
             " in ", draw::counted(link.survey.texts(), "text"), ")");
  table.columns = {{"layer"}, {"head"}, {"of their weight"}, {"of other words'"}};
  const std::vector<KindLink> heads = link.survey.heads();
  for (std::size_t i = 0; i < std::min(most, heads.size()); ++i) {
    table.rows.push_back({"",
                          {layer_name(report, heads[i].layer), std::to_string(heads[i].head),
                           in_percent(heads[i].weight) + "%", in_percent(heads[i].others) + "%"}});
  }
  return table;
}

draw::Table examples_table(const LinkReport& link, const HeadChoice& head) {
  draw::Table table;
  table.title = joined("Where head ", *head.head, " of layer ", *head.layer, " links ", name_of_link(link));
  table.columns = {{"weight"},
                   {"from", draw::Align::left},
                   {"to", draw::Align::left},
                   {"line"},
                   {"text", draw::Align::left}};
  for (const Example& example : link.examples) {
    table.rows.push_back({"",
                          {in_percent(example.link.weight) + "%", example.from_word, example.to_word,
                           std::to_string(example.link.text),
                           draw::shorten(draw::printable(example.text), kLongestSentence)}});
  }
  return table;
}

draw::Heatmap map_of_heads(const SurveyReport& report, const Column& column, double Spread::*value) {
  draw::Heatmap map;
  map.title = column.name;
  map.rows = report.layer_names.size();
  map.columns = report.heads.size() / map.rows;
  map.row_labels = report.layer_names;
  for (std::size_t head = 1; head <= map.columns; ++head) map.column_labels.push_back(std::to_string(head));
  for (const SurveyedHead& head : report.heads) map.values.push_back(head.*column.spread.*value);
  return map;
}

draw::FilmStrip maps_of_heads(const SurveyReport& report, const char* title, double Spread::*value) {
  draw::FilmStrip strip;
  strip.title = title;
  strip.range = {0, 0};
  for (const Column& column : columns_of(report)) {
    strip.frames.push_back(map_of_heads(report, column, value));
    strip.range.high = std::max(strip.range.high, draw::range_of(strip.frames.back()).high);
  }
  return strip;
}

}  // namespace

std::vector<draw::Part> survey_lists(const SurveyReport& report, const SurveyRequest& request) {
  std::vector<draw::Part> parts;
  if (report.texts == 0) return parts;
  if (request.links.empty()) parts.emplace_back(habits_table(report));
  for (const LinkReport& link : report.links) {
    if (link.survey.texts() == 0) continue;  // a note says so
    if (request.head.head) {
      parts.emplace_back(examples_table(link, request.head));
    } else {
      parts.emplace_back(heads_table(report, link, request.top));
    }
  }
  return parts;
}

draw::Figure survey_figure(const SurveyReport& report, const SurveyRequest& request) {
  draw::Figure figure{.title = joined("What the heads of ", draw::printable(report.model), " do"),
                      .parts = {},
                      .notes = survey_notes(report)};
  if (report.texts > 0 && request.links.empty()) {
    figure.parts.emplace_back(
        maps_of_heads(report, "Shares of the weight: layers (rows) and heads (columns)", &Spread::mean));
    figure.parts.emplace_back(maps_of_heads(
        report, "How much they differ between texts: the standard deviation", &Spread::deviation));
  }
  for (draw::Part& part : survey_lists(report, request)) figure.parts.push_back(std::move(part));
  return figure;
}

std::vector<std::string> survey_notes(const SurveyReport& report) {
  std::vector<std::string> notes = {joined(draw::printable(report.model), ": ",
                                           draw::counted(report.texts, "text"), ", ",
                                           draw::counted(report.tokens, "token"), ".")};
  if (report.cut > 0)
    notes.push_back(joined(draw::counted(report.cut, "text"), " had more tokens than the model reads and ",
                           report.cut == 1 ? "was" : "were", " cut."));
  if (report.empty > 0)
    notes.push_back(joined(draw::counted(report.empty, "line"), " without text ",
                           report.empty == 1 ? "was" : "were", " left out."));
  if (report.not_finite > 0)
    notes.push_back(joined(draw::counted(report.not_finite, "text"), " whose numbers are not finite ",
                           report.not_finite == 1 ? "was" : "were", " left out."));
  for (const LinkReport& link : report.links) {
    if (link.survey.texts() == 0)
      notes.push_back(joined("No text has words of both kinds: ", name_of_link(link), "."));
  }
  if (report.links.empty()) {
    notes.push_back(
        "Broad is how evenly the weight is spread, 100 being uniform. A habit is what half of the weight or "
        "more does; the last column says in how many texts.");
    if (report.causal) notes.push_back("Duplicate and induction are of texts in which a token occurs again.");
  }
  return notes;
}

}  // namespace attend::survey
