#include <attend/lens_sink.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/error.h"
#include "lens/lens_blocks.h"

namespace attend {
namespace {

// The weight on the first token in some rows of every head of a layer, added up.
double weight_on_first(const Reading& reading, std::int64_t layer, lens::Range rows) {
  const Tensor weights = lens::weights_between(reading, layer, std::nullopt, rows, {0, 1});
  const std::span<const float> values = weights.values<float>();
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The word, where that is one token; else what the token stands for by itself.
std::string text_of_first(const Reading& reading) {
  const Word& word = reading.words().front();
  if (word.last_token == 1) return word.text;
  if (!reading.has_model()) return std::string(reading.token_name(0));
  const std::int32_t id = reading.tokens().ids.front();
  return reading.model().tokenizer().decode(std::span(&id, 1), false);
}

double even_share(lens::Range rows) {
  double sum = 0;
  for (std::int64_t row = rows.first; row < rows.last; ++row) sum += 1.0 / static_cast<double>(row + 1);
  return sum / static_cast<double>(rows.size());
}

}  // namespace

std::optional<FirstToken> first_token_of(const Reading& reading) {
  if (!reading.is_causal()) return std::nullopt;
  if (reading.only_layer()) {
    return first_token_of(
        Reading(reading.model(), reading.text(), reading.second(),
                {.max_tokens = std::min(reading.size(), kSinkTokens), .keep = Keep::attention}));
  }
  FirstToken first{.text = text_of_first(reading), .special = reading.words().front().special};
  const lens::Range rows{2, std::min(reading.size(), kSinkTokens)};
  if (rows.size() <= 0) return first;
  double sum = 0;
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer)
    sum += weight_on_first(reading, layer, rows);
  first.rows = rows.size();
  first.share = sum / static_cast<double>(reading.layers() * reading.heads() * rows.size());
  first.even = even_share(rows);
  return first;
}

std::optional<SinkChoice> sink_choice_named(std::string_view name) noexcept {
  if (name == "auto") return SinkChoice::automatic;
  if (name == "fold") return SinkChoice::fold;
  if (name == "keep") return SinkChoice::keep;
  return std::nullopt;
}

bool folds_first_token(SinkChoice choice, const std::optional<FirstToken>& first) {
  if (choice == SinkChoice::keep) return false;
  if (choice == SinkChoice::automatic) return first && !first->special && first->is_sink();
  if (!first)
    refuse("lens", "the first token is only folded where every token looks back, and this model looks ahead");
  return true;
}

std::vector<Word> first_token_apart(const Reading& reading, std::vector<Word> units) {
  if (units.empty() || units.front().last_token == 1) return units;
  const TextSpan place = reading.tokens().offsets.front();
  Word first = units.front();
  first.text = text_of_first(reading);
  first.place = place;
  first.last_token = 1;
  first.unknown = reading.is_unknown(0);
  units.front().first_token = 1;
  units.front().place.begin = std::max(units.front().place.begin, place.end);
  units.insert(units.begin(), std::move(first));
  return units;
}

std::vector<Word> without_first_token(std::vector<Word> units) {
  if (units.empty() || units.front().first_token != 0) return units;
  if (units.front().last_token > 1) {
    units.front().first_token = 1;
  } else if (units.size() > 1) {
    units.erase(units.begin());
  }
  return units;
}

}  // namespace attend
