#include "learn/pair_data.h"

#include <attend/file_error.h>
#include <attend/text_model.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "learn/fingerprint.h"

namespace attend::learn {
namespace {

constexpr std::uint64_t kSplitStream = 5, kOrderStream = 6;
constexpr std::size_t kMostHeldOut = 1024;  // the search for partners compares all with all

// 0 .. count-1, shuffled by a seed.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random_bits(seed, i) % i]);
  return order;
}

}  // namespace

PairData::PairData(const Config& config) : seed_(static_cast<std::uint64_t>(config.seed)) {
  const PairFile file = read_pairs(config.file, config.score_max);
  scored_ = file.scored;
  read_texts(config, file);
  batch_ = std::min(static_cast<std::size_t>(config.batch), learned_.size());
}

// Each different text once.
void PairData::read_texts(const Config& config, const PairFile& file) {
  const TextModel reader = TextModel::load(config.encoder);
  const std::string prompt = reader.prompt_of({});
  if (config.length < reader.tokenizer().special_count()) {
    throw ConfigError("data.length",
                      joined(config.length, " tokens leave no room for the ",
                             reader.tokenizer().special_count(), " that are added around every text"));
  }
  std::map<std::string, std::size_t> known;
  const auto number = [&](const std::string& text, std::int64_t line) {
    const auto [place, is_new] = known.emplace(text, texts_.size());
    if (is_new) {
      texts_.push_back(reader.encode(prompt + text, config.length).ids);
      if (texts_.back().empty())
        throw FileError(config.file, joined("line ", line), "has a sentence without tokens");
      longest_ = std::max(longest_, static_cast<std::int64_t>(texts_.back().size()));
    }
    return place->second;
  };
  std::vector<Pair> pairs;
  for (const SentencePair& pair : file.pairs) {
    const std::size_t first = number(pair.first, pair.line);
    pairs.push_back({first, number(pair.second, pair.line), pair.score});
    fingerprint_ = fingerprint_of(pair.first, fingerprint_of(pair.second, fingerprint_));
    fingerprint_ =
        fingerprint_of({reinterpret_cast<const char*>(&pair.score), sizeof(pair.score)}, fingerprint_);
  }
  split(config, pairs);
}

// Which pairs are held out depends on the seed, not on their order in the file, which often is sorted.
void PairData::split(const Config& config, const std::vector<Pair>& pairs) {
  const std::vector<std::size_t> order = shuffled(pairs.size(), random_bits(seed_, kSplitStream));
  const auto wanted = static_cast<std::size_t>(static_cast<double>(pairs.size()) * config.validation);
  const std::size_t held = std::min(wanted, kMostHeldOut);
  for (std::size_t i = 0; i < order.size(); ++i) (i < held ? held_ : learned_).push_back(pairs[order[i]]);
  if (held_.size() < 2 || learned_.size() < 2) {
    throw FileError(config.file, "",
                    joined("has ", pairs.size(), pairs.size() == 1 ? " pair" : " pairs", ", which leaves ",
                           learned_.size(), " to learn from and ", held_.size(),
                           " to validate on; each must be 2 or more"));
  }
  const auto same = [&](const Pair& pair) { return pair.score == held_.front().score; };
  if (scored_ && std::all_of(held_.begin(), held_.end(), same)) {
    throw FileError(
        config.file, "",
        joined("the ", held_.size(),
               " pairs to validate on all have the same score, so there is no order to find; a larger "
               "data.validation or another training.seed may help"));
  }
}

std::vector<Pair> PairData::batch(std::uint64_t number) const {
  const std::uint64_t batches = learned_.size() / batch_, times = number / batches;
  const std::vector<std::size_t> order =
      shuffled(learned_.size(), random_bits(random_bits(seed_, kOrderStream), times));
  std::vector<Pair> list;
  for (std::size_t i = 0; i < batch_; ++i) list.push_back(learned_[order[number % batches * batch_ + i]]);
  return list;
}

std::vector<std::vector<Pair>> PairData::held_out_batches() const {
  std::vector<std::vector<Pair>> list;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (i % batch_ == 0) list.emplace_back();
    list.back().push_back(held_[i]);
  }
  return list;
}

train::Batch PairData::texts_of(const std::vector<Pair>& pairs) const {
  train::Sequences tokens{.count = 2 * static_cast<std::int64_t>(pairs.size())};
  std::vector<const std::vector<std::int32_t>*> texts;
  for (const Pair& pair : pairs) texts.push_back(&texts_[pair.first]);
  for (const Pair& pair : pairs) texts.push_back(&texts_[pair.second]);
  for (const auto* const text : texts) {
    tokens.lengths.push_back(static_cast<std::int64_t>(text->size()));
    tokens.length = std::max(tokens.length, tokens.lengths.back());
  }
  tokens.ids.reserve(static_cast<std::size_t>(tokens.count * tokens.length));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    tokens.ids.insert(tokens.ids.end(), texts[i]->begin(), texts[i]->end());
    tokens.ids.resize((i + 1) * static_cast<std::size_t>(tokens.length));  // padding is never read
  }
  return {.tokens = std::move(tokens)};
}

}  // namespace attend::learn
