// What each precision costs a model in exactness, for people and for programs.
#include <numeric>

#include "base/error.h"
#include "doctor/precisions.h"
#include "doctor/sections.h"
#include "draw/number.h"

namespace attend::doctor {
namespace {

double mean_cosine(const Agreement& agreement) {
  if (agreement.cosines.empty()) return 1;
  const double sum = std::accumulate(agreement.cosines.begin(), agreement.cosines.end(), 0.0);
  return sum / static_cast<double>(agreement.cosines.size());
}

std::string percent_text(double share) { return joined(draw::format_short(100 * share, 3), "%"); }

Json json_of_error(const PrecisionError& error) {
  Json json{{"precision", name_of(error.precision)}, {"isa", error.isa}};
  if (!error.why_not.empty()) json["why_not"] = error.why_not;
  if (error.vectors) {
    json["worst_cosine"] = error.vectors->worst_cosine;
    json["worst_text"] = error.vectors->worst_text;
    json["mean_cosine"] = mean_cosine(*error.vectors);
    json["distance"] = error.vectors->distance;
  }
  if (error.guesses) {
    json["places"] = error.guesses->places;
    json["mean_difference"] = error.guesses->mean;
    json["largest_difference"] = error.guesses->largest;
    json["mean_shift"] = error.guesses->shift;
    json["same_first"] = error.guesses->same_first;
  }
  return json;
}

std::vector<std::string> cells_of(const PrecisionError& error) {
  std::vector<std::string> cells{error.why_not.empty() ? error.isa : "not here"};
  if (error.vectors) {
    cells.insert(cells.end(),
                 {cosine_text(error.vectors->worst_cosine), cosine_text(mean_cosine(*error.vectors)),
                  draw::format_short(error.vectors->distance, 2)});
  }
  if (error.guesses) {
    cells.insert(cells.end(),
                 {draw::format_short(error.guesses->mean, 2), draw::format_short(error.guesses->largest, 2),
                  percent_text(error.guesses->same_first)});
  }
  return cells;
}

}  // namespace

Section precisions_section(const TextModel& model) {
  Section section{"precisions", "Precisions, beside f32"};
  const PrecisionErrors measured = measure_precisions(model);
  const bool writes =
      std::ranges::any_of(measured.errors, [](const auto& error) { return error.guesses.has_value(); });
  draw::Table table{.title = "",
                    .label_header = "precision",
                    .columns = {{"instruction set", draw::Align::left}},
                    .rows = {}};
  if (writes) {
    table.columns.insert(table.columns.end(), {{"mean difference"}, {"largest"}, {"same first guess"}});
  } else {
    table.columns.insert(table.columns.end(), {{"least cosine"}, {"mean"}, {"largest distance"}});
  }
  Json list = Json::array();
  for (const PrecisionError& error : measured.errors) {
    list.push_back(json_of_error(error));
    table.rows.push_back({std::string(name_of(error.precision)), cells_of(error)});
  }
  for (const PrecisionError& error : measured.errors) {
    if (!error.why_not.empty())
      section.notes.push_back(joined(name_of(error.precision), ": ", error.why_not, "."));
  }
  section.add("texts", measured.texts, "");
  section.add("tokens", measured.tokens, "");
  section.add("errors", std::move(list), "");
  section.tables.push_back(std::move(table));
  const std::string what =
      writes ? "the log-probability of the token that follows, and the most probable token, at each place"
             : "each text's vector; the distance is relative to its length";
  section.notes.push_back(joined("f32 is exact but for rounding; the others are compared with it on ",
                                 measured.texts, " texts of ", measured.tokens, " tokens in all: ", what,
                                 "."));
  return section;
}

}  // namespace attend::doctor
