#include <attend/lens_heads.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "base/error.h"
#include "base/largest_first.h"
#include "lens/lens_blocks.h"

namespace attend {
namespace {

void check_relation(const Reading& reading, const WordRelation& relation) {
  for (const std::size_t word : {relation.from, relation.to}) {
    if (word >= reading.words().size())
      refuse("lens", "word is ", word, ", but there are ", reading.words().size(), ", counted from 0");
  }
}

double sum_of(std::span<const float> row, const Word& word) {
  double sum = 0;
  for (std::int64_t t = word.first_token; t < word.last_token; ++t)
    sum += static_cast<double>(row[static_cast<std::size_t>(t)]);
  return sum;
}

double entropy_of(std::span<const float> row) {
  double sum = 0;
  for (const float weight : row) {
    if (weight != 0) sum -= static_cast<double>(weight) * std::log(static_cast<double>(weight));
  }
  return sum;
}

// Calls take(index of a head, token, row) for these tokens of a layer.
template <class Take>
void for_each_weights(const Reading& reading, std::int64_t number, const std::vector<std::int64_t>& tokens,
                      const Take& take) {
  const Reading::Layer& layer = reading.layer(number);
  const auto n = static_cast<std::size_t>(reading.size());
  const auto block = static_cast<std::size_t>(
      std::max<std::int64_t>(1, lens::kBlockNumbers / (reading.size() * reading.heads())));
  for (std::size_t first = 0; first < tokens.size(); first += block) {
    const std::vector<std::int64_t> rows(
        tokens.begin() + static_cast<std::ptrdiff_t>(first),
        tokens.begin() + static_cast<std::ptrdiff_t>(std::min(tokens.size(), first + block)));
    const Tensor weights =
        attention_rows(layer.q, layer.k, layer.options, Stage::weights, {.rows = rows}, layer.state);
    for (std::int64_t h = 0; h < reading.heads(); ++h) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        take(h, rows[r],
             weights.values<float>().subspan((static_cast<std::size_t>(h) * rows.size() + r) * n, n));
      }
    }
  }
}

// For a token that occurs very often, only its first places are searched: otherwise a text of one repeated
// word would take n² steps.
constexpr std::size_t kMostEarlier = 256;

class Profiler {
 public:
  Profiler(const Reading& reading, std::span<const WordRelation> relations)
      : reading_(reading),
        relations_(relations),
        word_of_(static_cast<std::size_t>(reading.size())),
        earlier_(word_of_.size()) {
    for (std::size_t w = 0; w < reading.words().size(); ++w) {
      const Word& word = reading.words()[w];
      for (std::int64_t t = word.first_token; t < word.last_token; ++t) {
        word_of_[static_cast<std::size_t>(t)] = w;
        if (!word.special) tokens_.push_back(t);
      }
    }
    const std::vector<std::int32_t>& ids = reading.tokens().ids;
    std::map<std::int32_t, std::vector<std::int64_t>> places;
    for (const std::int64_t t : tokens_) {
      std::vector<std::int64_t>& same = places[ids[static_cast<std::size_t>(t)]];
      earlier_[static_cast<std::size_t>(t)] = same;
      if (same.size() < kMostEarlier) same.push_back(t);
    }
    if (tokens_.empty()) {  // nothing but special tokens: they are all there is to look at
      for (std::int64_t t = 0; t < reading.size(); ++t) tokens_.push_back(t);
    }
  }

  void profile(std::int64_t layer, std::span<HeadProfile> heads) const {
    std::vector<std::int64_t> tokens;
    std::copy_if(tokens_.begin(), tokens_.end(), std::back_inserter(tokens),
                 [&](std::int64_t token) { return reading_.looking(layer).contains(token); });
    if (tokens.empty()) return;
    const double scale = 1.0 / static_cast<double>(tokens.size());
    for_each_weights(reading_, layer, tokens,
                     [&](std::int64_t h, std::int64_t token, std::span<const float> row) {
                       add(heads[static_cast<std::size_t>(h)], token, row, scale);
                     });
    const double most = std::log(static_cast<double>(reading_.looked_at(layer).size()));
    for (HeadProfile& head : heads) {
      head.broad = most > 0 ? head.entropy / most : 0;
      if (head.repeated == 0) continue;
      head.duplicate /= static_cast<double>(head.repeated);
      head.induction /= static_cast<double>(head.repeated);
    }
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      for (const HeadLink& link : links(layer, relations_[r]))
        heads[static_cast<std::size_t>(link.head) - 1].relations[r] = link.weight;
    }
  }

  std::vector<HeadLink> links(std::int64_t layer, const WordRelation& relation) const {
    const Word &from = reading_.words()[relation.from], &to = reading_.words()[relation.to];
    std::vector<std::int64_t> tokens;
    for (std::int64_t t = from.first_token; t < from.last_token; ++t) tokens.push_back(t);
    std::vector<HeadLink> result(static_cast<std::size_t>(reading_.heads()));
    std::vector<double> special(result.size());
    const double scale = 1.0 / static_cast<double>(tokens.size());
    for_each_weights(reading_, layer, tokens, [&](std::int64_t h, std::int64_t, std::span<const float> row) {
      HeadLink& link = result[static_cast<std::size_t>(h)];
      link.layer = layer;
      link.head = h + 1;
      link.weight += scale * sum_of(row, to);
      special[static_cast<std::size_t>(h)] += scale * special_of(row);
    });
    for (std::size_t h = 0; h < result.size(); ++h) {
      const double rest = 1 - special[h];
      result[h].share = !to.special && !(rest <= 1e-9) ? result[h].weight / rest : 0;
    }
    return result;
  }

 private:
  double special_of(std::span<const float> row) const {
    double sum = 0;
    for (const Word& word : reading_.words()) sum += word.special ? sum_of(row, word) : 0;
    return sum;
  }

  void add(HeadProfile& head, std::int64_t token, std::span<const float> row, double scale) const {
    const auto at = [&](std::int64_t t) {
      return t >= 0 && t < reading_.size() ? static_cast<double>(row[static_cast<std::size_t>(t)]) : 0.0;
    };
    head.previous += scale * at(token - 1);
    head.next += scale * at(token + 1);
    head.same_token += scale * at(token);
    head.same_word +=
        scale * (sum_of(row, reading_.words()[word_of_[static_cast<std::size_t>(token)]]) - at(token));
    head.first += scale * at(0);
    head.separator += scale * special_of(row);
    head.entropy += scale * entropy_of(row);
    const std::vector<std::int64_t>& before = earlier_[static_cast<std::size_t>(token)];
    if (before.empty()) return;
    ++head.repeated;
    for (const std::int64_t place : before) {
      head.duplicate += at(place);
      if (place + 1 < token) head.induction += at(place + 1);
    }
  }

  const Reading& reading_;
  std::span<const WordRelation> relations_;
  std::vector<std::size_t> word_of_;
  std::vector<std::int64_t> tokens_;
  std::vector<std::vector<std::int64_t>> earlier_;  // the places of the same token before each
};

}  // namespace

std::vector<HeadProfile> profile_heads(const Reading& reading, std::span<const WordRelation> relations) {
  for (const WordRelation& relation : relations) check_relation(reading, relation);
  const Profiler profiler(reading, relations);
  std::vector<HeadProfile> profiles;
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
    const std::size_t first = profiles.size();
    for (std::int64_t head = 1; head <= reading.heads(); ++head)
      profiles.push_back({.layer = layer, .head = head, .relations = std::vector<double>(relations.size())});
    profiler.profile(layer, std::span(profiles).subspan(first));
  }
  return profiles;
}

std::string_view habit_of(const HeadProfile& profile) noexcept {
  constexpr double kStandsOut = 0.5, kBroad = 0.85;
  if (std::isnan(profile.entropy)) return "not finite";
  const std::pair<double, std::string_view> habits[] = {
      {profile.separator, "separator"},   {profile.previous, "previous"},   {profile.next, "next"},
      {profile.same_token, "same token"}, {profile.same_word, "same word"}, {profile.first, "first token"},
      {profile.induction, "induction"},   {profile.duplicate, "duplicate"}};
  const auto* const best = std::max_element(std::begin(habits), std::end(habits),
                                            [](const auto& a, const auto& b) { return a.first < b.first; });
  if (best->first >= kStandsOut) return best->second;
  return profile.broad >= kBroad ? "broad" : "mixed";
}

std::vector<HeadLink> find_heads(const Reading& reading, const WordRelation& relation) {
  return find_heads(reading, std::span(&relation, 1));
}

std::vector<HeadLink> find_heads(const Reading& reading, std::span<const WordRelation> pairs) {
  if (pairs.empty()) refuse("lens", "no pair of words is given for the heads to link");
  for (const WordRelation& pair : pairs) check_relation(reading, pair);
  const Profiler profiler(reading, {});
  const double share = 1.0 / static_cast<double>(pairs.size());
  std::vector<HeadLink> links;
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
    std::vector<HeadLink> heads;
    for (const WordRelation& pair : pairs) {
      const std::vector<HeadLink> more = profiler.links(layer, pair);
      if (heads.empty()) {
        for (const HeadLink& link : more) heads.push_back({.layer = link.layer, .head = link.head});
      }
      for (std::size_t h = 0; h < more.size(); ++h) {
        heads[h].weight += share * more[h].weight;
        heads[h].share += share * more[h].share;
      }
    }
    links.insert(links.end(), heads.begin(), heads.end());
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const HeadLink& a, const HeadLink& b) { return larger_first(a.weight, b.weight); });
  return links;
}

}  // namespace attend
