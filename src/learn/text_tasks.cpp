// text: a causal language model. masked: an encoder that guesses tokens which were hidden from it.
#include "base/random.h"
#include "learn/corpus.h"
#include "learn/task.h"

namespace attend::learn {
namespace {

class Text : public Task {
 public:
  explicit Text(const Config& config) : config_(config), corpus_(config, false) {}

  void complete(model::OwnModel& model) const override {
    model.kind = model::ModelKind::decoder;
    model.vocabulary = corpus_.vocabulary();
    model.length = config_.length;
  }
  train::Batch batch(std::uint64_t number) const override {
    return corpus_.window_batch(random_bits(static_cast<std::uint64_t>(config_.seed), 3), number);
  }
  std::vector<train::Batch> validation() const override { return corpus_.held_out(); }
  std::string tokenizer_json() const override { return corpus_.tokenizer_json(); }

 private:
  Config config_;
  Corpus corpus_;
};

class Masked : public Task {
 public:
  explicit Masked(const Config& config) : config_(config), corpus_(config, true) {}

  void complete(model::OwnModel& model) const override {
    model.kind = model::ModelKind::encoder;
    model.vocabulary = corpus_.vocabulary();
    model.length = config_.length;
  }
  train::Batch batch(std::uint64_t number) const override {
    const std::uint64_t seed = random_bits(static_cast<std::uint64_t>(config_.seed), 4);
    return hidden(corpus_.window_batch(seed, number), random_bits(seed + 1, number));
  }
  std::vector<train::Batch> validation() const override {
    std::vector<train::Batch> list = corpus_.held_out();
    for (std::size_t i = 0; i < list.size(); ++i)
      list[i] = hidden(std::move(list[i]), random_bits(kValidation, i));
    return list;
  }
  std::string tokenizer_json() const override { return corpus_.tokenizer_json(); }

 private:
  static constexpr std::uint64_t kValidation = 0x6d61736b;

  // A share of the tokens must be guessed: of ten, eight are masked, one is replaced and one is left as it
  // was, so that the model cannot take what it sees for granted (Devlin et al. 2019).
  train::Batch hidden(train::Batch batch, std::uint64_t seed) const {
    batch.targets.assign(batch.tokens.ids.size(), kNoTarget);
    for (std::size_t i = 0; i < batch.tokens.ids.size(); ++i) {
      if (uniform_at(seed, 3 * i) >= config_.masked) continue;
      std::int32_t& id = batch.tokens.ids[i];
      batch.targets[i] = id;
      const double what = uniform_at(seed, 3 * i + 1);
      if (what < 0.8) {
        id = corpus_.mask();
      } else if (what < 0.9) {
        id = static_cast<std::int32_t>(random_bits(seed, 3 * i + 2) %
                                       static_cast<std::uint64_t>(corpus_.vocabulary()));
      }
    }
    // The first token always is: a batch without anything to guess would have no loss.
    if (batch.targets.front() == kNoTarget) {
      batch.targets.front() = batch.tokens.ids.front();
      batch.tokens.ids.front() = corpus_.mask();
    }
    return batch;
  }

  Config config_;
  Corpus corpus_;
};

}  // namespace

std::unique_ptr<Task> make_text(const Config& config) { return std::make_unique<Text>(config); }
std::unique_ptr<Task> make_masked(const Config& config) { return std::make_unique<Masked>(config); }

}  // namespace attend::learn
