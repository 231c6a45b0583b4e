// pairs: a pretrained encoder learns which sentences belong together.
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "learn/pair_data.h"
#include "learn/pair_measures.h"
#include "learn/pretrained.h"
#include "learn/sentence_vectors.h"
#include "learn/task.h"

namespace attend::learn {
namespace {

// Refuses what is wrong before anything is read.
const Config& checked(const Config& config) {
  if (config.file.empty()) throw ConfigError("data.file", "is missing: which pairs should the model learn?");
  if (config.encoder.empty())
    throw ConfigError("data.model", "is missing: which model should learn from the pairs?");
  return config;
}

std::vector<double> scores_of(const std::vector<Pair>& pairs) {
  std::vector<double> scores;
  for (const Pair& pair : pairs) scores.push_back(pair.score);
  return scores;
}

// The numbers by which the contrastive loss recognises equal texts.
struct TextNumbers {
  std::vector<std::int64_t> first, second;
  explicit TextNumbers(const std::vector<Pair>& pairs) {
    for (const Pair& pair : pairs) {
      first.push_back(static_cast<std::int64_t>(pair.first));
      second.push_back(static_cast<std::int64_t>(pair.second));
    }
  }
  train::Contrast contrast() const { return {.first_texts = first, .second_texts = second}; }
};

class Pairs : public Task {
 public:
  explicit Pairs(const Config& config) : config_(checked(config)), start_(config.encoder), data_(config) {
    refuse_other_shapes();
    if (!data_.scored() && config.batch < 2) {
      throw ConfigError(
          "training.batch",
          "a batch of 1 has no other pairs to compare with; pairs without scores need 2 or more");
    }
    origins_ = {{"model", config.encoder, start_.fingerprint()},
                {"file of pairs", config.file, data_.fingerprint()}};
  }

  void complete(model::OwnModel& model) const override {
    model = model::own_model_of(start_.description_for(data_.longest()));
  }
  ModelDescription description(const Config&) const override {
    return start_.description_for(data_.longest());
  }
  bool guesses() const override { return false; }
  std::int64_t sequences(std::int64_t) const override {
    return 2 * static_cast<std::int64_t>(data_.batch_size());
  }
  bool fill(train::Model& model) const override {
    start_.fill(model);
    return true;
  }

  train::Batch batch(std::uint64_t number) const override { return data_.texts_of(data_.batch(number)); }
  std::vector<train::Batch> validation() const override {
    std::vector<train::Batch> list;
    for (const auto& pairs : data_.held_out_batches()) list.push_back(data_.texts_of(pairs));
    return list;
  }

  Learned learn(train::Model& model, const StepBatches& step) const override {
    Learned learned;
    const double weight = 1 / static_cast<double>(data_.batch_size() * static_cast<std::size_t>(step.count));
    for (std::int64_t i = 0; i < step.count; ++i) {
      const std::uint64_t number = step.first + static_cast<std::uint64_t>(i);
      const std::vector<Pair> pairs = data_.batch(number);
      const train::Batch texts = data_.texts_of(pairs);
      const auto loss = [&](ConstTensorView hidden, TensorView d_hidden) {
        const SentenceVectors sentences(hidden, texts.tokens, poolings());
        Tensor d(DType::f32, sentences.vectors().shape());
        learned.loss += loss_of(pairs, sentences.vectors(), weight, d);
        sentences.backward(d, d_hidden);
      };
      model.learn_from_hidden(texts, loss, random_bits(step.dropout_seed, number));
      const std::vector<std::int64_t>& lengths = texts.tokens.lengths;
      learned.tokens += std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    }
    learned.loss *= weight;
    return learned;
  }

  Measured measure(train::Model& model) const override {
    const std::vector<Pair>& held = data_.held_out();
    const auto count = static_cast<std::int64_t>(held.size());
    const std::int64_t width =
        start_.description().hidden_size * static_cast<std::int64_t>(poolings().size());
    Tensor first(DType::f32, {count, width}), second(DType::f32, {count, width});
    Measured found;
    std::int64_t at = 0;
    for (const std::vector<Pair>& pairs : data_.held_out_batches()) {
      const train::Batch texts = data_.texts_of(pairs);
      const SentenceVectors sentences(model.hidden(texts), texts.tokens, poolings());
      const auto n = static_cast<std::int64_t>(pairs.size());
      copy(sentences.vectors().slice(0, 0, n), first.view().slice(0, at, at + n));
      copy(sentences.vectors().slice(0, n, 2 * n), second.view().slice(0, at, at + n));
      found.loss += loss_of(pairs, sentences.vectors(), 1, {}) / static_cast<double>(count);
      at += n;
    }
    if (data_.scored()) {
      const std::vector<double> cosines = train::pair_cosines(first, second), scores = scores_of(held);
      found.more = {{"spearman", spearman(cosines, scores)}, {"pearson", pearson(cosines, scores)}};
    } else {
      const PartnerSearch search = search_partners(first, second, TextNumbers(held).contrast());
      found.accuracy = search.nearest;
      found.more = {{"mean_reciprocal_rank", search.reciprocal_rank}};
    }
    return found;
  }

  void save(const std::filesystem::path& folder, train::Model& model) const override {
    start_.save(folder, model);
  }
  std::vector<std::filesystem::path> files() const override { return start_.saved_files(); }
  std::vector<Origin> origins() const override { return origins_; }
  std::string summary() const override {
    return joined(data_.learned(), data_.scored() ? " scored" : "", " pairs to learn from, ",
                  data_.held_out().size(), " to validate on, from ", config_.encoder);
  }
  std::string tokenizer_json() const override { return ""; }  // save() carries the model's own over
  Tokenizer tokenizer() const override { return Tokenizer::load(start_.files()); }
  Encoding encode(const std::string& text, const Tokenizer& tokenizer) const override {
    return tokenizer.encode(text, {.truncate = false, .lower_case = start_.files().lower_case});
  }

 private:
  // Settings that the model decides may keep the task's defaults, or must agree with the model.
  void refuse_other_shapes() const {
    using Json = nlohmann::ordered_json;
    const auto keys_of = [](const Config& config) { return Json::parse(to_json(config)).at("model"); };
    Config own = config_;
    complete(own.model);
    const Json given = keys_of(config_), usual = keys_of(default_config("pairs")), decided = keys_of(own);
    for (const auto& [key, value] : given.items()) {
      if (value == usual[key] || value == decided[key]) continue;
      throw ConfigError("model." + key, joined(value.dump(), " does not match ", config_.encoder,
                                               ", which has ", decided[key].dump()));
    }
  }

  std::vector<Pooling> poolings() const {
    const std::vector<Pooling>& own = start_.files().pooling;
    return own.empty() ? std::vector{Pooling::mean} : own;
  }

  // The sum over the pairs. vectors and d: the first sentences, then the second.
  double loss_of(const std::vector<Pair>& pairs, ConstTensorView vectors, double weight, TensorView d) const {
    const auto n = static_cast<std::int64_t>(pairs.size());
    const ConstTensorView first = vectors.slice(0, 0, n), second = vectors.slice(0, n, 2 * n);
    const TensorView d_first = d.given() ? d.slice(0, 0, n) : d;
    const TensorView d_second = d.given() ? d.slice(0, n, 2 * n) : d;
    if (data_.scored())
      return train::cosine_regression(first, second, scores_of(pairs), weight, d_first, d_second);
    const TextNumbers numbers(pairs);
    return train::contrastive(first, second, numbers.contrast(), weight, d_first, d_second);
  }

  Config config_;
  Pretrained start_;
  PairData data_;
  std::vector<Origin> origins_;
};

}  // namespace

std::unique_ptr<Task> make_pairs(const Config& config) { return std::make_unique<Pairs>(config); }

}  // namespace attend::learn
