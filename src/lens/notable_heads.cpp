#include <attend/lens_notable.h>
#include <attend/lens_sink.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/largest_first.h"
#include "lens/lens_blocks.h"

namespace attend {
namespace {

// A link counts from here on: a third of what a word has to give, in a row where even shares would be a
// tenth.
constexpr double kClearLink = 0.25;
constexpr double kClearNeighbour = 0.5;
constexpr std::size_t kLinksOfHead = 3;

// The words that are measured: those of the first tokens, without special tokens and without a first token
// that is a sink, which maps leave out as well.
std::vector<std::size_t> measured_words(const Reading& reading) {
  const bool folds = folds_first_token(SinkChoice::automatic, first_token_of(reading));
  std::vector<std::size_t> places;
  for (std::size_t w = 0; w < reading.words().size(); ++w) {
    const Word& word = reading.words()[w];
    if (word.special || word.unknown || word.last_token > kNotableTokens || (folds && word.last_token == 1))
      continue;
    places.push_back(w);
  }
  return places;
}

// How much a link says: one across many words owes less to where they stand than one to the word after next.
double clearness(const WordLink& link) {
  const double distance = std::abs(static_cast<double>(link.to) - static_cast<double>(link.from));
  return link.beyond * (1 + std::log2(std::max(1.0, distance)) / 4);
}

// A sum of values of which one may be taken out again.
struct Mean {
  double sum = 0, count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  double without(double value) const { return count > 1 ? (sum - value) / (count - 1) : 0; }
};

// One head's weights between tokens, and between the words that are measured.
class HeadWeights {
 public:
  // tokens (n, n)
  HeadWeights(const Reading& reading, std::int64_t layer, const std::vector<std::size_t>& places,
              std::span<const float> tokens, std::int64_t n)
      : reading_(reading), looking_(reading.looking(layer)), places_(places), tokens_(tokens), n_(n) {
    std::vector<bool> counts(static_cast<std::size_t>(n));
    for (const std::size_t place : places) {
      const Word& word = reading.words()[place];
      for (std::int64_t t = word.first_token; t < word.last_token; ++t)
        counts[static_cast<std::size_t>(t)] = true;
    }
    by_distance_.resize(static_cast<std::size_t>(2 * n - 1));
    for (std::int64_t t = looking_.first; t < std::min(n, looking_.last); ++t) {
      for (std::int64_t u = 0; u < n; ++u) {
        if (counts[static_cast<std::size_t>(t)] && counts[static_cast<std::size_t>(u)] && sees(t, u))
          by_distance_[static_cast<std::size_t>(u - t + n - 1)].add(at(t, u));
      }
    }
    for (std::size_t j = 0; j < places.size(); ++j) {
      Mean mean;
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (looks(i) && sees(word(i).first_token, word(j).first_token)) mean.add(between(i, j));
      }
      by_word_.push_back(mean);
    }
  }

  bool looks(std::size_t i) const { return looking_.contains(word(i).first_token); }

  // The weight of a word on another: the sum over the keys' tokens, the mean over the query's.
  double between(std::size_t i, std::size_t j) const {
    return over_tokens(i, j, [&](std::int64_t t, std::int64_t u) { return at(t, u); });
  }

  // What it would be if the head did not look at words, but at one of them from everywhere, or at a distance.
  double usual(std::size_t i, std::size_t j) const {
    const double column = by_word_[j].without(between(i, j));
    if (word(i).part != word(j).part) return column;
    return std::max(column, over_tokens(i, j, [&](std::int64_t t, std::int64_t u) {
                      return by_distance_[static_cast<std::size_t>(u - t + n_ - 1)].without(at(t, u));
                    }));
  }

 private:
  const Word& word(std::size_t i) const { return reading_.words()[places_[i]]; }
  double at(std::int64_t t, std::int64_t u) const {
    return static_cast<double>(tokens_[static_cast<std::size_t>(t * n_ + u)]);
  }
  bool sees(std::int64_t t, std::int64_t u) const { return !reading_.is_causal() || u <= t; }
  template <class Value>
  double over_tokens(std::size_t i, std::size_t j, const Value& value) const {
    double sum = 0;
    for (std::int64_t t = word(i).first_token; t < word(i).last_token; ++t) {
      for (std::int64_t u = word(j).first_token; u < word(j).last_token; ++u) sum += value(t, u);
    }
    return sum / static_cast<double>(word(i).last_token - word(i).first_token);
  }

  const Reading& reading_;
  TokenRange looking_;
  const std::vector<std::size_t>& places_;
  std::span<const float> tokens_;
  std::int64_t n_;
  std::vector<Mean> by_distance_, by_word_;
};

class HeadJudge {
 public:
  HeadJudge(const Reading& reading, std::optional<std::size_t> focus)
      : reading_(reading), places_(measured_words(reading)) {
    for (const std::size_t place : places_) {
      spoken_.push_back(has_letters(reading.words()[place].text));
      asks_.push_back(spoken_.back() && (!focus || *focus == place));
    }
  }

  // The heads of a layer, as far as they do something clear; a head may be in both lists.
  void judge(std::int64_t layer, std::vector<NotableHead>& linking,
             std::vector<NotableHead>& neighbours) const {
    if (places_.size() < 2) return;
    const std::int64_t n = reading_.words()[places_.back()].last_token;
    const Tensor all = lens::weights_between(reading_, layer, std::nullopt, {0, n}, {0, n});
    for (std::int64_t h = 0; h < reading_.heads(); ++h) {
      const HeadWeights weights(reading_, layer, places_,
                                all.values<float>().subspan(static_cast<std::size_t>(h * n * n)), n);
      NotableHead head{.layer = layer, .head = h + 1, .links = links_of(weights)};
      if (!head.links.empty() && head.links.front().beyond >= kClearLink) {
        head.share = head.links.front().weight;
        linking.push_back(std::move(head));
      }
      for (const HeadRole role : {HeadRole::previous, HeadRole::next}) {
        const double share = neighbour_share(weights, role);
        if (share >= kClearNeighbour)
          neighbours.push_back({.layer = layer, .head = h + 1, .role = role, .share = share});
      }
    }
  }

 private:
  // Of each word its clearest link, the clearest of these first.
  std::vector<WordLink> links_of(const HeadWeights& weights) const {
    std::vector<WordLink> links;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (!weights.looks(i) || !asks_[i]) continue;
      WordLink best;
      for (std::size_t j = 0; j < places_.size(); ++j) {
        if (!spoken_[j] || near(i, j)) continue;
        const double weight = weights.between(i, j), beyond = weight - weights.usual(i, j);
        if (beyond > best.beyond)
          best = {.from = places_[i], .to = places_[j], .weight = weight, .beyond = beyond};
      }
      if (best.beyond > 0) links.push_back(best);
    }
    std::stable_sort(links.begin(), links.end(),
                     [](const WordLink& a, const WordLink& b) { return clearness(a) > clearness(b); });
    links.resize(std::min(links.size(), kLinksOfHead));
    return links;
  }

  bool near(std::size_t i, std::size_t j) const {
    return reading_.words()[places_[i]].part == reading_.words()[places_[j]].part && i <= j + 1 && j <= i + 1;
  }

  double neighbour_share(const HeadWeights& weights, HeadRole role) const {
    Mean mean;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const std::size_t to = role == HeadRole::previous ? i - 1 : i + 1;  // before the first: out of range
      if (weights.looks(i) && asks_[i] && to < places_.size()) mean.add(weights.between(i, to));
    }
    return mean.count > 0 ? mean.sum / mean.count : 0;
  }

  const Reading& reading_;
  std::vector<std::size_t> places_;
  std::vector<bool> spoken_, asks_;
};

// The best link counts most: one clear link says more than several faint ones.
double clearness(const NotableHead& head) {
  double sum = 0, share = 4;
  for (const WordLink& link : head.links) {
    sum += share * clearness(link);
    share /= 2;
  }
  return sum;
}

bool same_pair(const NotableHead& a, const NotableHead& b) {
  return a.links.front().from == b.links.front().from && a.links.front().to == b.links.front().to;
}

// “it”, or “the#2” where there are several, as in maps.
std::string quoted(const Reading& reading, std::size_t word) {
  const std::string& text = reading.words()[word].text;
  std::size_t total = 0, number = 0;
  for (std::size_t w = 0; w < reading.words().size(); ++w) {
    if (reading.words()[w].text != text) continue;
    ++total;
    if (w <= word) ++number;
  }
  return total == 1 ? joined("“", text, "”") : joined("“", text, '#', number, "”");
}

std::string percent_of(double share) { return joined(std::lround(100 * share), '%'); }

}  // namespace

std::string_view name_of(HeadRole role) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"links", "previous", "next"};
  return kNames[static_cast<std::size_t>(role)];
}

std::vector<NotableHead> notable_heads(const Reading& reading, std::optional<std::size_t> focus,
                                       std::size_t most) {
  if (focus && *focus >= reading.words().size())
    refuse("lens", "word is ", *focus, ", but there are ", reading.words().size(), ", counted from 0");
  if (reading.not_finite()) return {};
  const HeadJudge judge(reading, focus);
  std::vector<NotableHead> linking, neighbours;
  const std::int64_t first = reading.only_layer().value_or(1);
  for (std::int64_t layer = first; layer <= reading.only_layer().value_or(reading.layers()); ++layer)
    judge.judge(layer, linking, neighbours);
  std::stable_sort(linking.begin(), linking.end(),
                   [](const NotableHead& a, const NotableHead& b) { return clearness(a) > clearness(b); });
  std::stable_sort(neighbours.begin(), neighbours.end(),
                   [](const NotableHead& a, const NotableHead& b) { return a.share > b.share; });
  std::vector<NotableHead> chosen;
  for (const HeadRole role : {HeadRole::previous, HeadRole::next}) {
    const auto best = std::find_if(neighbours.begin(), neighbours.end(),
                                   [&](const NotableHead& head) { return head.role == role; });
    if (best != neighbours.end()) chosen.push_back(*best);
  }
  const std::size_t room = most - std::min(most, chosen.size());
  std::vector<NotableHead> result;
  for (NotableHead& head : linking) {
    if (result.size() == room) break;
    if (std::none_of(result.begin(), result.end(),
                     [&](const NotableHead& other) { return same_pair(head, other); }))
      result.push_back(std::move(head));
  }
  for (NotableHead& head : chosen) {
    if (result.size() < most) result.push_back(std::move(head));
  }
  return result;
}

std::string sentence_of(const Reading& reading, const NotableHead& head) {
  switch (head.role) {
    case HeadRole::links:
      return joined(percent_of(head.share), " of the weight of ", quoted(reading, head.links.front().from),
                    " goes to ", quoted(reading, head.links.front().to));
    case HeadRole::previous:
      return joined(percent_of(head.share), " of the weight goes to the word before");
    case HeadRole::next:
      return joined(percent_of(head.share), " of the weight goes to the word after");
  }
  return {};
}

}  // namespace attend
