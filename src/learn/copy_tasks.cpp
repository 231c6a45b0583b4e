// copy: "c a d | c a d", one sequence whose second half repeats the first; a token looks back by a fixed
// distance. reverse: the same with an encoder and a decoder, backwards, so that cross-attention draws the
// other diagonal.
#include "base/random.h"
#include "learn/task.h"

namespace attend::learn {
namespace {

class Symbols : public Task {
 public:
  Symbols(const Config& config, bool reverse) : config_(config), reverse_(reverse) {
    for (std::int64_t i = 0; i < config.symbols; ++i) words_.push_back("s" + std::to_string(i));
    words_.emplace_back(reverse ? "<" : "|");
    words_.emplace_back("[UNK]");
  }

  void complete(model::OwnModel& model) const override {
    model.kind = reverse_ ? model::ModelKind::encoder_decoder : model::ModelKind::decoder;
    model.vocabulary = static_cast<std::int64_t>(words_.size());
    model.length = reverse_ ? config_.length : 2 * config_.length;
  }

  train::Batch batch(std::uint64_t number) const override {
    return draw(random_bits(random_bits(static_cast<std::uint64_t>(config_.seed), 2), number), config_.batch);
  }

  std::vector<train::Batch> validation() const override {
    std::vector<train::Batch> list;
    for (std::uint64_t i = 0; i < 4; ++i) list.push_back(draw(random_bits(kValidation, i), config_.batch));
    return list;
  }

  std::optional<Example> example() const override {
    Example example{.batch = draw(random_bits(kValidation, 99), 1)};
    const auto labels = [&](const std::vector<std::int32_t>& ids) {
      std::vector<std::string> result;
      for (const std::int32_t id : ids) result.push_back(words_[static_cast<std::size_t>(id)]);
      return result;
    };
    example.row_labels = labels(example.batch.tokens.ids);
    example.column_labels = reverse_ ? labels(example.batch.source.ids) : example.row_labels;
    if (reverse_) example.kind = LayerKind::cross;
    for (std::int64_t row = 0; row < example.batch.tokens.length; ++row) {
      if (reverse_) {
        example.answers.push_back(config_.length - 1 - row);
      } else {
        example.answers.push_back(row < config_.length ? -1 : row - config_.length);
      }
    }
    return example;
  }

  std::optional<std::int32_t> start() const override {
    return reverse_ ? std::optional(static_cast<std::int32_t>(config_.symbols)) : std::nullopt;
  }

  // What has a source answers in as many tokens as that has.
  std::optional<std::int64_t> answer_length() const override {
    return reverse_ ? std::nullopt : std::optional(config_.length);
  }
  std::string tokenizer_json() const override { return word_tokenizer(words_, reverse_ ? "<" : ""); }

 private:
  static constexpr std::uint64_t kValidation = 0x636f7079;

  // The separator comes before the answer; the guess at each place is of the token at the next.
  train::Batch draw(std::uint64_t seed, std::int64_t count) const {
    const std::int64_t n = config_.length;
    const auto separator = static_cast<std::int32_t>(config_.symbols);
    train::Batch batch{.tokens = {.count = count, .length = reverse_ ? n : 2 * n}};
    if (reverse_) batch.source = {.count = count, .length = n};
    std::vector<std::int32_t> drawn(static_cast<std::size_t>(n));
    for (std::int64_t s = 0; s < count; ++s) {
      for (std::int64_t i = 0; i < n; ++i) {
        drawn[static_cast<std::size_t>(i)] =
            static_cast<std::int32_t>(random_bits(seed, static_cast<std::uint64_t>(s * n + i)) %
                                      static_cast<std::uint64_t>(config_.symbols));
      }
      if (reverse_) {
        batch.source.ids.insert(batch.source.ids.end(), drawn.begin(), drawn.end());
        batch.tokens.ids.push_back(separator);
        batch.tokens.ids.insert(batch.tokens.ids.end(), drawn.rbegin(), drawn.rend() - 1);
        batch.targets.insert(batch.targets.end(), drawn.rbegin(), drawn.rend());
      } else {
        batch.tokens.ids.insert(batch.tokens.ids.end(), drawn.begin(), drawn.end());
        batch.tokens.ids.push_back(separator);
        batch.tokens.ids.insert(batch.tokens.ids.end(), drawn.begin(), drawn.end() - 1);
        batch.targets.insert(batch.targets.end(), static_cast<std::size_t>(n), kNoTarget);
        batch.targets.insert(batch.targets.end(), drawn.begin(), drawn.end());
      }
    }
    return batch;
  }

  Config config_;
  bool reverse_;
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Task> make_copy(const Config& config) { return std::make_unique<Symbols>(config, false); }
std::unique_ptr<Task> make_reverse(const Config& config) { return std::make_unique<Symbols>(config, true); }

}  // namespace attend::learn
