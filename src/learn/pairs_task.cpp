// pairs: an encoder that was trained before learns which sentences belong together.
#include <attend/file_error.h>
#include <attend/text_model.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "checkpoint/open_file.h"
#include "learn/fingerprint.h"
#include "learn/pair_file.h"
#include "learn/pair_measures.h"
#include "learn/pretrained.h"
#include "learn/sentence_vectors.h"
#include "learn/task.h"

namespace attend::learn {
namespace {

constexpr std::uint64_t kSplitStream = 5, kOrderStream = 6;
constexpr std::size_t kMostHeldOut = 1024;  // the search for partners compares all with all

// 0 .. count-1 in an order that a seed decides.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random_bits(seed, i) % i]);
  return order;
}

// A pair as numbers of texts.
struct Pair {
  std::size_t first, second;
  double score;
};

class Pairs : public Task {
 public:
  explicit Pairs(const Config& config) : config_(config), start_(model_name(config)) {
    if (config.file.empty()) throw ConfigError("data.file", "is missing: which pairs are to be learned?");
    refuse_other_shapes();
    const PairFile file = read_pairs(config.file, config.score_max);
    scored_ = file.scored;
    if (!scored_ && config.batch < 2) {
      throw ConfigError("training.batch",
                        "1 pair has no other to be told apart from; pairs without scores need 2 or more");
    }
    read_texts(file);
    split();
    batch_ = std::min(static_cast<std::size_t>(config.batch), learned_.size());
  }

  void shape(train::ModelShape& model) const override {
    const double dropout = model.dropout;
    const bool recompute = model.recompute;
    model = start_.shape();
    model.length = longest_;
    model.dropout = dropout;
    model.recompute = recompute;
  }
  std::int64_t sequences(std::int64_t batch) const override { return 2 * batch; }
  bool fill(train::Model& model) const override {
    start_.fill(model);
    return true;
  }

  train::Batch batch(std::uint64_t number) const override { return texts_of(chosen(number)); }
  std::vector<train::Batch> validation() const override {
    std::vector<train::Batch> list;
    for (const auto& pairs : held_out_batches()) list.push_back(texts_of(pairs));
    return list;
  }

  Learned learn(train::Model& model, const StepBatches& step) const override {
    Learned learned;
    const double weight = 1 / static_cast<double>(batch_ * static_cast<std::size_t>(step.count));
    for (std::int64_t i = 0; i < step.count; ++i) {
      const std::uint64_t number = step.first + static_cast<std::uint64_t>(i);
      const std::vector<Pair> pairs = chosen(number);
      const train::Batch texts = texts_of(pairs);
      const auto loss = [&](ConstTensorView hidden, TensorView d_hidden) {
        const SentenceVectors sentences(hidden, texts.tokens, poolings());
        Tensor d(DType::f32, sentences.vectors().shape());
        learned.loss += loss_of(pairs, sentences.vectors(), weight, d);
        sentences.backward(d, d_hidden);
      };
      model.learn_from_hidden(texts, loss, random_bits(step.dropout_seed, number));
      learned.tokens +=
          std::accumulate(texts.tokens.lengths.begin(), texts.tokens.lengths.end(), std::int64_t{0});
    }
    learned.loss *= weight;
    return learned;
  }

  Measured measure(train::Model& model) const override {
    const auto count = static_cast<std::int64_t>(held_.size());
    Tensor first, second;
    double loss = 0;
    std::int64_t at = 0;
    for (const std::vector<Pair>& pairs : held_out_batches()) {
      const train::Batch texts = texts_of(pairs);
      const SentenceVectors sentences(model.hidden(texts), texts.tokens, poolings());
      const ConstTensorView vectors = sentences.vectors();
      if (at == 0) {
        first = Tensor(DType::f32, {count, vectors.size(1)});
        second = Tensor(DType::f32, {count, vectors.size(1)});
      }
      const auto n = static_cast<std::int64_t>(pairs.size());
      loss += loss_of(pairs, vectors, 1, {});
      copy(vectors.slice(0, 0, n), first.view().slice(0, at, at + n));
      copy(vectors.slice(0, n, 2 * n), second.view().slice(0, at, at + n));
      at += n;
    }
    Measured found{.loss = loss / static_cast<double>(count)};
    if (scored_) {
      const std::vector<double> cosines = train::pair_cosines(first, second), scores = scores_of(held_);
      found.more = {{"spearman", spearman(cosines, scores)}, {"pearson", pearson(cosines, scores)}};
    } else {
      const Numbers numbers(held_);
      const PartnerSearch search = search_partners(first, second, numbers.contrast());
      found.accuracy = search.nearest;
      found.more = {{"mean_reciprocal_rank", search.reciprocal_rank}};
    }
    return found;
  }

  void save(const std::filesystem::path& folder, train::Model& model) const override {
    start_.save(folder, model);
  }
  std::vector<Origin> origins() const override { return origins_; }
  std::string summary() const override {
    return joined(learned_.size(), scored_ ? " scored" : "", " pairs to learn from, ", held_.size(),
                  " to try it on, from ", config_.encoder);
  }
  std::string tokenizer_json() const override { return ""; }  // save() carries the model's own over
  Tokenizer tokenizer() const override { return Tokenizer::load(start_.files().tokenizer); }
  Encoding encode(const std::string& text, const Tokenizer& tokenizer) const override {
    return tokenizer.encode(text, {.truncate = false, .lower_case = start_.files().lower_case});
  }

 private:
  // By which equal texts are known.
  struct Numbers {
    std::vector<std::int64_t> first, second;
    explicit Numbers(const std::vector<Pair>& pairs) {
      for (const Pair& pair : pairs) {
        first.push_back(static_cast<std::int64_t>(pair.first));
        second.push_back(static_cast<std::int64_t>(pair.second));
      }
    }
    train::Contrast contrast() const { return {.first_texts = first, .second_texts = second}; }
  };

  static const std::string& model_name(const Config& config) {
    if (config.encoder.empty())
      throw ConfigError("data.model", "is missing: which model is to go on learning?");
    return config.encoder;
  }

  // What the model decides may be left as the task has it, or be what the model says.
  void refuse_other_shapes() const {
    using Json = nlohmann::ordered_json;
    const auto keys_of = [](const Config& config) { return Json::parse(to_json(config)).at("model"); };
    Config own = config_;
    shape(own.model);
    const Json given = keys_of(config_), usual = keys_of(default_config("pairs")), decided = keys_of(own);
    for (const auto& [key, value] : given.items()) {
      if (value == usual[key] || value == decided[key]) continue;
      throw ConfigError("model." + key, joined(value.dump(), " is not what ", config_.encoder,
                                               " has, which is ", decided[key].dump()));
    }
  }

  std::vector<Pooling> poolings() const {
    const std::vector<Pooling>& own = start_.files().pooling;
    return own.empty() ? std::vector{Pooling::mean} : own;
  }

  // Each different text once, as the model reads it.
  void read_texts(const PairFile& file) {
    const TextModel reader = TextModel::load(config_.encoder);
    const std::string prompt = reader.prompt_of({});
    std::map<std::string, std::size_t> known;
    const auto number = [&](const std::string& text, std::int64_t line) {
      const auto [place, is_new] = known.emplace(text, texts_.size());
      if (is_new) {
        texts_.push_back(reader.encode(prompt + text, config_.length).ids);
        if (texts_.back().empty())
          throw FileError(config_.file, joined("line ", line), "has a sentence without a token");
        longest_ = std::max(longest_, static_cast<std::int64_t>(texts_.back().size()));
      }
      return place->second;
    };
    std::uint64_t print = 0;
    for (const SentencePair& pair : file.pairs) {
      const std::size_t first = number(pair.first, pair.line);
      pairs_.push_back({first, number(pair.second, pair.line), pair.score});
      print = fingerprint_of(pair.first, fingerprint_of(pair.second, print));
      print = fingerprint_of(std::to_string(pair.score), print);
    }
    origins_ = {{"model", config_.encoder, start_.fingerprint()}, {"file of pairs", config_.file, print}};
  }

  // Which pairs are held out depends on the seed, not on their order in the file, which often is sorted.
  void split() {
    const std::vector<std::size_t> order =
        shuffled(pairs_.size(), random_bits(static_cast<std::uint64_t>(config_.seed), kSplitStream));
    const auto wanted = static_cast<std::size_t>(static_cast<double>(pairs_.size()) * config_.validation);
    const std::size_t held = std::min(wanted, kMostHeldOut);
    for (std::size_t i = 0; i < order.size(); ++i) (i < held ? held_ : learned_).push_back(pairs_[order[i]]);
    if (held_.size() < 2 || learned_.size() < 2) {
      throw FileError(config_.file, "",
                      joined("has ", pairs_.size(), pairs_.size() == 1 ? " pair" : " pairs",
                             ", which leaves ", learned_.size(), " to learn from and ", held_.size(),
                             " to try it on; each must be 2 or more"));
    }
    const auto same = [&](const Pair& pair) { return pair.score == held_.front().score; };
    if (scored_ && std::all_of(held_.begin(), held_.end(), same)) {
      throw FileError(config_.file, "",
                      joined("the ", held_.size(),
                             " pairs to try it on have the same score, which gives them "
                             "no order to find; a larger data.validation or another training.seed may help"));
    }
  }

  // Each time through all pairs has its own order; a rest that fills no batch waits for the next time.
  std::vector<Pair> chosen(std::uint64_t number) const {
    const std::uint64_t batches = learned_.size() / batch_;
    const std::uint64_t stream = random_bits(static_cast<std::uint64_t>(config_.seed), kOrderStream);
    const std::vector<std::size_t> order = shuffled(learned_.size(), random_bits(stream, number / batches));
    std::vector<Pair> list;
    for (std::size_t i = 0; i < batch_; ++i) list.push_back(learned_[order[number % batches * batch_ + i]]);
    return list;
  }

  std::vector<std::vector<Pair>> held_out_batches() const {
    std::vector<std::vector<Pair>> list;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (i % batch_ == 0) list.emplace_back();
      list.back().push_back(held_[i]);
    }
    return list;
  }

  // The first texts of all pairs, then the second.
  train::Batch texts_of(const std::vector<Pair>& pairs) const {
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
      tokens.ids.resize((i + 1) *
                        static_cast<std::size_t>(tokens.length));  // what fills up is never looked at
    }
    return {.tokens = std::move(tokens)};
  }

  static std::vector<double> scores_of(const std::vector<Pair>& pairs) {
    std::vector<double> scores;
    for (const Pair& pair : pairs) scores.push_back(pair.score);
    return scores;
  }

  // The sum over the pairs. vectors and d: the first sentences, then the second.
  double loss_of(const std::vector<Pair>& pairs, ConstTensorView vectors, double weight, TensorView d) const {
    const auto n = static_cast<std::int64_t>(pairs.size());
    const ConstTensorView first = vectors.slice(0, 0, n), second = vectors.slice(0, n, 2 * n);
    const TensorView d_first = d.given() ? d.slice(0, 0, n) : d,
                     d_second = d.given() ? d.slice(0, n, 2 * n) : d;
    if (scored_) return train::cosine_regression(first, second, scores_of(pairs), weight, d_first, d_second);
    const Numbers numbers(pairs);
    return train::contrastive(first, second, numbers.contrast(), weight, d_first, d_second);
  }

  Config config_;
  Pretrained start_;
  bool scored_ = false;
  std::int64_t longest_ = 1;
  std::size_t batch_ = 1;
  std::vector<std::vector<std::int32_t>> texts_;
  std::vector<Pair> pairs_, learned_, held_;
  std::vector<Origin> origins_;
};

}  // namespace

std::unique_ptr<Task> make_pairs(const Config& config) { return std::make_unique<Pairs>(config); }

}  // namespace attend::learn
