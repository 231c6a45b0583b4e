#include "explain/comparison.h"
#include "explain/json_object.h"

namespace attend::explain {
namespace {

JsonObject occurrence_json(const Occurrence& occurrence, const Taken& taken) {
  const std::vector<Word>& words = occurrence.reading->words();
  nlohmann::ordered_json moved = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < taken.words.size(); ++i) {
    const Word& word = words[taken.words[i]];
    moved.push_back({{"text", word.text},
                     {"begin", word.place.begin},
                     {"end", word.place.end},
                     {"share", taken.shares[i]}});
  }
  JsonObject json;
  json.add("text", occurrence.reading->text())
      .add("word", words[occurrence.word].text)
      .add("begin", words[occurrence.word].place.begin)
      .add("end", words[occurrence.word].place.end)
      .add("itself", taken.itself)
      .add("special", taken.special)
      .add("taken", moved);
  if (const auto& where = occurrence.reading->not_finite())
    json.add("not_finite", not_finite_json(*occurrence.reading, *where));
  return json;
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  std::vector<JsonObject> occurrences, pairs;
  for (std::size_t i = 0; i < comparison.occurrences.size(); ++i)
    occurrences.push_back(occurrence_json(comparison.occurrences[i], comparison.taken[i]));
  for (const OccurrencePair& pair : comparison.pairs) {
    JsonObject json;
    json.add("first", pair.first)
        .add("second", pair.second)
        .add("static", pair.static_cosine)
        .add("layers", pair.cosines);
    pairs.push_back(std::move(json));
  }
  JsonObject json;
  json.add("model", comparison.occurrences.front().reading->model().files().name)
      .add("occurrences", occurrences)
      .add("pairs", pairs);
  return json.finish();
}

}  // namespace attend::explain
