#include "explain/explanation.h"
#include "explain/json_object.h"

namespace attend::explain {
namespace {

using Json = nlohmann::ordered_json;

JsonObject focus_json(const Explanation& explanation) {
  const Focus& focus = *explanation.focus;
  JsonObject json;
  json.add("index", focus.unit).add("text", explanation.units[focus.unit].text);
  for (const FocusRow& row : focus.rows) {
    JsonObject values;
    values.add("values", row.values).add("special", row.special).add("sink", row.sink);
    json.add(std::string(name_of(row.method)).c_str(), values);
  }
  return json;
}

Json sink_json(const Sink& sink) {
  Json json = {{"token", sink.token.text},
               {"special", sink.token.special},
               {"share", nullptr},
               {"is_sink", sink.token.is_sink()},
               {"folded", sink.folded}};
  if (sink.token.rows > 0) json["share"] = sink.token.share;
  if (sink.folded) json["map_share"] = sink.map_share;
  return json;
}

Json links_json(const Reading& reading, const std::vector<HeadLink>& links) {
  Json list = Json::array();
  for (const HeadLink& link : links) {
    list.push_back({{"layer", link.layer},
                    {"head", link.head},
                    {"key_head", reading.key_head(link.layer, link.head)},
                    {"weight", link.weight},
                    {"share", link.share}});
  }
  return list;
}

Json relations_json(const Reading& reading, const std::vector<RelationHeads>& relations) {
  Json list = Json::array();
  for (const RelationHeads& one : relations) {
    Json pairs = Json::array();
    for (const WordRelation& pair : one.relation.pairs)
      pairs.push_back({reading.words()[pair.from].text, reading.words()[pair.to].text});
    list.push_back(
        {{"name", one.relation.name}, {"pairs", pairs}, {"links", links_json(reading, one.links)}});
  }
  return list;
}

Json profiles_json(const Reading& reading, const std::vector<HeadProfile>& profiles) {
  Json list = Json::array();
  for (const HeadProfile& profile : profiles) {
    list.push_back({{"layer", profile.layer},
                    {"head", profile.head},
                    {"key_head", reading.key_head(profile.layer, profile.head)},
                    {"previous", profile.previous},
                    {"next", profile.next},
                    {"same_token", profile.same_token},
                    {"same_word", profile.same_word},
                    {"first", profile.first},
                    {"separator", profile.separator},
                    {"duplicate", profile.duplicate},
                    {"induction", profile.induction},
                    {"repeated", profile.repeated},
                    {"entropy", profile.entropy},
                    {"broad", profile.broad},
                    {"habit", std::string(habit_of(profile))}});
  }
  return list;
}

Json notable_json(const Reading& reading, const std::vector<NotableHead>& heads) {
  Json list = Json::array();
  for (const NotableHead& head : heads) {
    Json links = Json::array();
    for (const WordLink& link : head.links) {
      links.push_back({{"from", reading.words()[link.from].text},
                       {"to", reading.words()[link.to].text},
                       {"weight", link.weight}});
    }
    list.push_back({{"layer", head.layer},
                    {"head", head.head},
                    {"role", std::string(name_of(head.role))},
                    {"share", head.share},
                    {"links", std::move(links)},
                    {"says", sentence_of(reading, head)}});
  }
  return list;
}

// [[unit, value], ...] for each row.
Json top_json(const TopOfRows& top) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < top.units.size(); ++i) {
    if (i % static_cast<std::size_t>(top.count) == 0) rows.push_back(Json::array());
    rows.back().push_back({top.units[i], top.values[i]});
  }
  return rows;
}

// Tokens [first, last) of each window.
Json ranges_json(const std::vector<TokenRange>& ranges) {
  Json list = Json::array();
  for (const TokenRange& range : ranges) list.push_back({range.first, range.last});
  return list;
}

Json guesses_json(const Reading& reading, const std::vector<TokenGuess>& guesses) {
  Json list = Json::array();
  for (const TokenGuess& guess : guesses) {
    list.push_back({{"token", std::string(reading.model().tokenizer().token(guess.token))},
                    {"id", guess.token},
                    {"probability", guess.probability}});
  }
  return list;
}

}  // namespace

std::string explanation_json(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation) {
  JsonObject json;
  const auto& windows = explanation.windows;
  json.add("model", reading.model_name()).add("text", windows ? windows->text : reading.text());
  if (!reading.second().empty()) json.add("second", reading.second());
  if (!reading.answer().empty()) json.add("answer", reading.answer());
  if (const auto begins = reading.target_begins()) json.add("answer_begins", *begins);
  std::vector<std::string> tokens;
  std::int64_t unknown = windows ? 0 : reading.unknown_tokens();
  for (std::int64_t token = 0; !windows && token < reading.size(); ++token)
    tokens.emplace_back(reading.token_name(token));
  if (windows) {
    const Tokenizer& tokenizer = reading.model().tokenizer();
    for (const std::int32_t id : windows->ids) {
      tokens.emplace_back(tokenizer.token(id));
      unknown += tokenizer.unknown() == id ? 1 : 0;
    }
  }
  json.add("tokens", tokens);
  json.add("dropped_tokens", windows ? windows->dropped : reading.tokens().dropped);
  if (windows) json.add("windows", ranges_json(windows->ranges));
  if (unknown > 0) json.add("unknown_tokens", unknown);
  if (reading.not_finite()) json.add("not_finite", not_finite_json(reading, *reading.not_finite()));
  const LensQuery& query = request.query;
  json.add("method", std::string(name_of(query.method)));
  json.add("layer", query.heads.layer ? nlohmann::ordered_json(*query.heads.layer) : nullptr);
  json.add("head", query.heads.head ? nlohmann::ordered_json(*query.heads.head) : nullptr);
  if (query.heads.head) json.add("key_head", reading.key_head(*query.heads.layer, *query.heads.head));
  if (query.heads.layer) json.add("key_heads", reading.key_heads(*query.heads.layer));
  json.add(request.tokens ? "units" : "words", units_json(explanation.units));
  if (explanation.map.count() > 0) json.add("weights", ConstTensorView(explanation.map));
  if (explanation.top) {
    json.add("stretches", units_json(explanation.map_units));
    json.add("top", top_json(*explanation.top));
  }
  json.add("received", explanation.received);
  json.add("left_out", units_json(explanation.left_out)).add("special_share", explanation.special_share);
  if (explanation.sink) json.add("sink", sink_json(*explanation.sink));
  if (explanation.focus) json.add("focus", focus_json(explanation));
  if (!explanation.guesses.empty()) json.add("guesses", guesses_json(reading, explanation.guesses));
  if (!explanation.notable.empty()) json.add("notable_heads", notable_json(reading, explanation.notable));
  if (!explanation.links.empty()) json.add("links", links_json(reading, explanation.links));
  if (!explanation.relations.empty()) json.add("relations", relations_json(reading, explanation.relations));
  if (!explanation.profiles.empty()) json.add("heads", profiles_json(reading, explanation.profiles));
  if (explanation.change) {
    JsonObject change;
    change.add("without", request.ablate)
        .add("text_cosine", explanation.change->text_cosine)
        .add("text_distance", explanation.change->text_distance)
        .add("words", units_json(reading.words()))
        .add("word_cosines", explanation.change->word_cosines);
    if (const auto& where = explanation.change->not_finite)
      change.add("not_finite", not_finite_json(reading, *where));
    json.add("change", change);
  }
  return json.finish();
}

}  // namespace attend::explain
