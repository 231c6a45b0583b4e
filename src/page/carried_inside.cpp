#include "page/carried_inside.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "io/base64.h"
#include "page/inside.h"
#include "page/reading_facts.h"

namespace attend::page {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostGuessWork = 1e11;      // multiplications and additions: about a second
constexpr std::size_t kTop = 10;             // candidates of each place and layer
constexpr std::size_t kLogitCandidates = 8;  // whose logits are taken apart at the last place
constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

class Floats {
 public:
  void add(double value) { all_.push_back(static_cast<float>(value)); }
  void add(const std::vector<double>& values) {
    for (const double value : values) add(value);
  }
  void add_nothing(std::int64_t count) { all_.insert(all_.end(), static_cast<std::size_t>(count), kNothing); }
  std::string base64() const {
    return io::to_base64({reinterpret_cast<const char*>(all_.data()), all_.size() * sizeof(float)});
  }

 private:
  std::vector<float> all_;
};

void add_part(Floats& numbers, const std::optional<BlockPart>& part) {
  if (!part) return numbers.add_nothing(3);
  numbers.add({part->input, part->length, part->cosine});
}

void add_block_layer(Floats& numbers, const BlockLayer& layer) {
  numbers.add({layer.in, layer.middle, layer.out});
  add_part(numbers, layer.attention);
  numbers.add(layer.heads);
  numbers.add(layer.rest);
  add_part(numbers, layer.feed_forward);
}

// Layers in which the token takes no part are left empty, so that every layer has its place.
template <class Add>
void add_layers(Floats& numbers, const Reading& reading, const BlockPath& path, std::int64_t size,
                const Add& add) {
  std::size_t next = 0;
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
    if (next < path.layers.size() && path.layers[next].layer == layer) {
      add(next++);
    } else {
      numbers.add_nothing(size);
    }
  }
}

struct NextTable {
  std::int64_t first = 0;
  std::size_t top = 0;
  std::vector<std::vector<std::int32_t>> best{};  // of the last layer at each place
  std::set<std::int32_t> tokens{};
  Floats numbers{};
};

std::int64_t first_next_place(const Reading& reading, const TokenRange& range, std::int64_t most) {
  const ModelDescription& model = reading.model().transformer().description();
  const double work = 2.0 * static_cast<double>(reading.layers() + 1) *
                      static_cast<double>(model.vocabulary_size) * static_cast<double>(model.hidden_size);
  const auto affordable = static_cast<std::int64_t>(std::max(1.0, kMostGuessWork / work));
  return std::max(range.first, range.last - std::min(most, affordable));
}

NextTable next_table(const Reading& reading, const TokenRange& range, std::int64_t most) {
  const std::int64_t first = first_next_place(reading, range, most), last = range.last,
                     layers = reading.layers();
  std::vector<GuessPlace> places;
  for (std::int64_t place = first; place < last; ++place) {
    for (std::int64_t layer = 0; layer <= layers; ++layer) {
      GuessPlace one{.place = place, .layer = layer};
      if (layer == layers || place == last - 1) one.temperatures = temperatures();
      if (layer == layers && place + 1 < reading.size())
        one.watched = reading.tokens().ids[static_cast<std::size_t>(place) + 1];
      places.push_back(std::move(one));
    }
  }
  const std::vector<PlaceGuesses> guesses = guesses_at(reading, places, kTop);
  const std::vector<double> all = temperatures();
  const auto one = static_cast<std::size_t>(std::find(all.begin(), all.end(), 1.0) - all.begin());
  NextTable table{.first = first, .top = guesses.front().tokens.size()};
  const auto sum_at_one = [&](const PlaceGuesses& each) {
    return each.log_sums.size() == 1 ? each.log_sums.front() : each.log_sums[one];
  };
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    const PlaceGuesses& each = guesses[i];
    table.tokens.insert(each.tokens.begin(), each.tokens.end());
    for (const std::int32_t token : each.tokens) table.numbers.add(token);
    table.numbers.add(each.logits);
    table.numbers.add(sum_at_one(each));
    if (places[i].layer == layers) table.best.push_back(each.tokens);
  }
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    if (places[i].layer == layers) table.numbers.add(guesses[i].log_sums);
  }
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    if (places[i].place == last - 1) table.numbers.add(guesses[i].log_sums);
  }
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    if (places[i].layer < layers) continue;
    table.numbers.add(places[i].watched ? std::exp(guesses[i].watched - sum_at_one(guesses[i]))
                                        : static_cast<double>(kNothing));
  }
  return table;
}

}  // namespace

CarriedInside carried_inside(const Reading& reading, const InsideBounds& bounds) {
  const TokenRange range = expects_next(reading);
  NextTable table;
  Json facts = Json::object();
  if (range.size() > 0) {
    table = next_table(reading, range, bounds.next_places);
    Json texts = Json::object();
    for (const std::int32_t token : table.tokens)
      texts[std::to_string(token)] = candidate_text(reading, token);
    facts["next"] = {{"first", table.first}, {"top", table.top}, {"texts", std::move(texts)}};
  }

  const std::int64_t first = std::max<std::int64_t>(0, reading.size() - bounds.block_places);
  const bool logits = has_logit_parts(reading);
  std::vector<BlockQuestion> questions;
  for (std::int64_t place = first; place < reading.size(); ++place) {
    BlockQuestion question{.place = place};
    if (logits && place >= table.first && range.contains(place)) {
      question.tokens = table.best[static_cast<std::size_t>(place - table.first)];
      question.tokens.resize(
          std::min(question.tokens.size(), place == range.last - 1 ? kLogitCandidates : std::size_t{1}));
    }
    questions.push_back(std::move(question));
  }
  const std::vector<BlockPath> paths = block_paths(reading, questions);
  const std::int64_t heads = reading.heads();
  Floats block;
  Json pairs = Json::array();
  for (const BlockPath& path : paths) {
    add_layers(block, reading, path, heads + 10,
               [&](std::size_t i) { add_block_layer(block, path.layers[i]); });
  }
  for (const BlockPath& path : paths) {
    for (const LogitParts& parts : path.logits) {
      pairs.push_back({path.place, parts.token});
      block.add({parts.logit, parts.embedding, parts.constant});
      add_layers(block, reading, path, heads + 2, [&](std::size_t i) {
        block.add(parts.layers[i].heads);
        block.add({parts.layers[i].rest, parts.layers[i].feed_forward});
      });
    }
  }
  facts["block"] = {{"first", first}, {"logits", std::move(pairs)}};
  return {.facts = json_text(facts), .block = block.base64(), .next = table.numbers.base64()};
}

}  // namespace attend::page
