// recall: pairs of a letter and a digit, "d7 a3 f1 ... a?", and the digit of the letter that is asked for. A
// query has to find the one token that has its letter, wherever it stands: what attention is for. With a
// distance, filler words come before the question:  "d7 a3 f1 and so but a?".
#include <array>
#include <numeric>

#include "base/random.h"
#include "learn/task.h"

namespace attend::learn {
namespace {

class Recall : public Task {
 public:
  explicit Recall(const Config& config) : config_(config) {
    // Pairs first, then questions, then answers.
    for (std::int64_t key = 0; key < config.keys; ++key) {
      for (std::int64_t value = 0; value < config.values; ++value) {
        words_.push_back(letter(key) + std::to_string(value));
      }
    }
    for (std::int64_t key = 0; key < config.keys; ++key) words_.push_back(letter(key) + "?");
    for (std::int64_t value = 0; value < config.values; ++value) words_.push_back(std::to_string(value));
    // Only where they are used, so that the vocabulary is the same as ever without them.
    if (config.distance > 0) words_.insert(words_.end(), kFillers.begin(), kFillers.end());
    words_.emplace_back("[UNK]");
  }

  void complete(model::OwnModel& model) const override {
    model.kind = model::ModelKind::decoder;
    model.vocabulary = static_cast<std::int64_t>(words_.size());
    model.length = length();
  }

  train::Batch batch(std::uint64_t number) const override {
    return draw(random_bits(random_bits(static_cast<std::uint64_t>(config_.seed), 1), number), config_.batch);
  }

  std::vector<train::Batch> validation() const override {
    std::vector<train::Batch> list;
    for (std::uint64_t i = 0; i < 4; ++i) list.push_back(draw(random_bits(kValidation, i), config_.batch));
    return list;
  }

  std::optional<Example> example() const override {
    Example example{.batch = draw(random_bits(kValidation, 99), 1)};
    const std::vector<std::int32_t>& ids = example.batch.tokens.ids;
    for (const std::int32_t id : ids) example.row_labels.push_back(words_[static_cast<std::size_t>(id)]);
    example.column_labels = example.row_labels;
    example.answers.assign(ids.size(), -1);
    const std::int64_t asked = ids.back() - config_.keys * config_.values;
    for (std::size_t i = 0; i < static_cast<std::size_t>(config_.pairs); ++i) {
      if (ids[i] / config_.values == asked) example.answers.back() = static_cast<std::int64_t>(i);
    }
    return example;
  }

  std::optional<std::int64_t> answer_length() const override { return 1; }
  std::string tokenizer_json() const override { return word_tokenizer(words_); }

 private:
  static constexpr std::uint64_t kValidation = 0x7265'6361'6c6c;
  static constexpr std::array<const char*, 10> kFillers = {"and",  "so",    "but",  "then", "or",
                                                           "also", "while", "thus", "yet",  "still"};
  std::int64_t length() const { return config_.pairs + config_.distance + 1; }
  static std::string letter(std::int64_t key) { return {static_cast<char>('a' + key)}; }

  train::Batch draw(std::uint64_t seed, std::int64_t count) const {
    train::Batch batch{.tokens = {.count = count, .length = length()}};
    std::vector<std::int32_t> keys(static_cast<std::size_t>(config_.keys));
    std::uint64_t drawn = 0;
    const auto below = [&](std::int64_t limit) {
      return static_cast<std::int64_t>(random_bits(seed, drawn++) % static_cast<std::uint64_t>(limit));
    };
    for (std::int64_t s = 0; s < count; ++s) {
      std::iota(keys.begin(), keys.end(), 0);
      const std::int64_t asked = below(config_.pairs);
      std::int64_t answer = 0;
      for (std::int64_t i = 0; i < config_.pairs; ++i) {
        std::swap(keys[static_cast<std::size_t>(i)],
                  keys[static_cast<std::size_t>(i + below(config_.keys - i))]);
        const std::int64_t value = below(config_.values);
        if (i == asked) answer = value;
        batch.tokens.ids.push_back(
            static_cast<std::int32_t>(keys[static_cast<std::size_t>(i)] * config_.values + value));
      }
      for (std::int64_t i = 0; i < config_.distance; ++i) {
        const std::int64_t first = config_.keys * (config_.values + 1) + config_.values;
        batch.tokens.ids.push_back(static_cast<std::int32_t>(first + below(std::ssize(kFillers))));
      }
      batch.tokens.ids.push_back(
          static_cast<std::int32_t>(config_.keys * config_.values + keys[static_cast<std::size_t>(asked)]));
      batch.targets.insert(batch.targets.end(), static_cast<std::size_t>(length() - 1), kNoTarget);
      batch.targets.push_back(static_cast<std::int32_t>(config_.keys * (config_.values + 1) + answer));
    }
    return batch;
  }

  Config config_;
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Task> make_recall(const Config& config) { return std::make_unique<Recall>(config); }

}  // namespace attend::learn
