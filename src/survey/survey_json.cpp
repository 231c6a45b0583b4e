#include <nlohmann/json.hpp>
#include <utility>

#include "survey/survey_report.h"

namespace attend::survey {
namespace {

using Json = nlohmann::ordered_json;

Json spread_json(const Spread& spread) { return {{"mean", spread.mean}, {"deviation", spread.deviation}}; }

Json head_json(const SurveyedHead& head) {
  Json habits = Json::object();
  for (const HabitCount& habit : head.habits) habits[std::string(habit.habit)] = habit.texts;
  return {{"layer", head.layer},
          {"head", head.head},
          {"habit", std::string(head.habits.front().habit)},
          {"habits", std::move(habits)},
          {"previous", spread_json(head.previous)},
          {"next", spread_json(head.next)},
          {"same_token", spread_json(head.same_token)},
          {"same_word", spread_json(head.same_word)},
          {"first", spread_json(head.first)},
          {"separator", spread_json(head.separator)},
          {"duplicate", spread_json(head.duplicate)},
          {"induction", spread_json(head.induction)},
          {"entropy", spread_json(head.entropy)},
          {"broad", spread_json(head.broad)}};
}

Json word_json(const std::string& text, TextSpan place) {
  return {{"text", text}, {"begin", place.begin}, {"end", place.end}};
}

Json link_json(const LinkReport& link, const HeadChoice& head) {
  Json heads = Json::array(), examples = Json::array();
  for (const KindLink& one : link.survey.heads())
    heads.push_back(
        {{"layer", one.layer}, {"head", one.head}, {"weight", one.weight}, {"others", one.others}});
  for (const Example& example : link.examples) {
    examples.push_back({{"line", example.link.text},
                        {"weight", example.link.weight},
                        {"from", word_json(example.from_word, example.from)},
                        {"to", word_json(example.to_word, example.to)},
                        {"text", example.text}});
  }
  Json json = {{"from", link.survey.from().text()},
               {"to", link.survey.to().text()},
               {"texts", link.survey.texts()},
               {"words", link.survey.words()},
               {"heads", std::move(heads)}};
  if (head.head) json["examples"] = std::move(examples);
  return json;
}

}  // namespace

std::string survey_json(const SurveyReport& report, const SurveyRequest& request) {
  Json heads = Json::array(), links = Json::array();
  for (const SurveyedHead& head : report.heads) heads.push_back(head_json(head));
  for (const LinkReport& link : report.links) links.push_back(link_json(link, request.head));
  Json json = {{"model", report.model},    {"texts", report.texts}, {"tokens", report.tokens},
               {"empty", report.empty},    {"cut", report.cut},     {"not_finite", report.not_finite},
               {"heads", std::move(heads)}};
  if (request.head.head) json["of"] = {{"layer", *request.head.layer}, {"head", *request.head.head}};
  if (!report.links.empty()) json["links"] = std::move(links);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attend::survey
