// An explanation as arrays in a file.
#include <string>
#include <utility>

#include "explain/array_list.h"
#include "explain/explanation.h"
#include "explain/units_arrays.h"

namespace attend::explain {
namespace {

// (layers, heads), of heads in any order.
template <class Head, class Value>
std::vector<double> by_head(const Reading& reading, const std::vector<Head>& heads, Value value) {
  std::vector<double> values(static_cast<std::size_t>(reading.layers() * reading.heads()));
  for (const Head& head : heads)
    values[static_cast<std::size_t>((head.layer - 1) * reading.heads() + head.head - 1)] = value(head);
  return values;
}

class HeadArrays {
 public:
  HeadArrays(const Reading& reading, ArrayList& arrays) : reading_(reading), arrays_(arrays) {}

  void add(const std::string& name, const std::vector<HeadLink>& links) const {
    add(name + "_weight", links, [](const HeadLink& link) { return link.weight; });
    add(name + "_share", links, [](const HeadLink& link) { return link.share; });
  }
  void add(const std::vector<HeadProfile>& profiles) const {
    constexpr std::pair<const char*, double HeadProfile::*> kColumns[] = {
        {"previous", &HeadProfile::previous},     {"next", &HeadProfile::next},
        {"same_token", &HeadProfile::same_token}, {"same_word", &HeadProfile::same_word},
        {"first", &HeadProfile::first},           {"separator", &HeadProfile::separator},
        {"duplicate", &HeadProfile::duplicate},   {"induction", &HeadProfile::induction},
        {"entropy", &HeadProfile::entropy},       {"broad", &HeadProfile::broad}};
    for (const auto& [name, column] : kColumns)
      add(std::string("heads_") + name, profiles,
          [&](const HeadProfile& profile) { return profile.*column; });
  }

 private:
  template <class Head, class Value>
  void add(const std::string& name, const std::vector<Head>& heads, Value value) const {
    arrays_.add(name,
                Tensor::from<double>({reading_.layers(), reading_.heads()}, by_head(reading_, heads, value)));
  }

  const Reading& reading_;
  ArrayList& arrays_;
};

}  // namespace

void save_arrays(const Reading& reading, const Explanation& explanation, const std::filesystem::path& file,
                 std::string_view format) {
  const auto count = static_cast<std::int64_t>(explanation.units.size());
  const std::vector<std::int32_t>& read =
      explanation.windows ? explanation.windows->ids : reading.tokens().ids;
  const std::vector<std::int64_t> ids(read.begin(), read.end());
  ArrayList arrays;
  if (explanation.map.count() > 0) arrays.add("weights", copy_of(explanation.map));
  add_units(arrays, explanation.units);
  if (const auto& top = explanation.top) {
    arrays.add("stretches", {static_cast<std::int64_t>(explanation.map_units.size()), 2},
               spans_of(explanation.map_units));
    arrays.add("top_units", {count, top->count}, top->units);
    arrays.add("top_values", Tensor::from<double>({count, top->count}, top->values));
  }
  arrays.add("received", explanation.received);
  if (const auto& sink = explanation.sink)
    arrays.add("sink", std::vector<double>{sink->token.share, sink->folded ? 1.0 : 0.0});
  arrays.add("ids", {static_cast<std::int64_t>(ids.size())}, ids);
  if (explanation.focus) {
    arrays.add("focus", {1}, {static_cast<std::int64_t>(explanation.focus->unit)});
    for (const FocusRow& row : explanation.focus->rows)
      arrays.add("focus_" + std::string(name_of(row.method)), row.values);
  }
  const HeadArrays of_heads(reading, arrays);
  if (!explanation.links.empty()) of_heads.add("links", explanation.links);
  for (std::size_t i = 0; i < explanation.relations.size(); ++i)
    of_heads.add("relation_" + std::to_string(i + 1), explanation.relations[i].links);
  if (!explanation.profiles.empty()) of_heads.add(explanation.profiles);
  if (const auto& change = explanation.change) {
    arrays.add("change_text", std::vector<double>{change->text_cosine, change->text_distance});
    arrays.add("change_words", {static_cast<std::int64_t>(reading.words().size()), 2},
               spans_of(reading.words()));
    arrays.add("change_word_cosines", change->word_cosines);
  }
  if (!explanation.guesses.empty()) {
    std::vector<std::int64_t> tokens;
    std::vector<double> probabilities;
    for (const TokenGuess& guess : explanation.guesses) {
      tokens.push_back(guess.token);
      probabilities.push_back(guess.probability);
    }
    arrays.add("guess_ids", {static_cast<std::int64_t>(tokens.size())}, tokens);
    arrays.add("guess_probabilities", probabilities);
  }
  arrays.save(file, format);
}

}  // namespace attend::explain
