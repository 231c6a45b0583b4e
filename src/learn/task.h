// Something to be learned: where batches come from, and what their tokens are called.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learn/config.h"
#include "train/model.h"

namespace attend::learn {

// One sequence in which one can see attention find an answer.
struct Example {
  train::Batch batch{};
  train::LayerAttention::Which which = train::LayerAttention::Which::decoder;
  std::vector<std::string> row_labels{}, column_labels{};
  // Which key each query should look at to find its answer; -1: none in particular.
  std::vector<std::int64_t> answers{};
};

class Task {
 public:
  virtual ~Task() = default;

  // What the task decides of a model: its kind, its vocabulary and the longest sequence.
  virtual void shape(train::ModelShape& model) const = 0;

  // Batch number `number` to learn from: a function of the seed and the number alone.
  virtual train::Batch batch(std::uint64_t number) const = 0;
  // What is never learned from, the same each time.
  virtual std::vector<train::Batch> validation() const = 0;

  virtual std::optional<Example> example() const { return {}; }

  // Where a source is answered, the token that stands before the answer.
  virtual std::optional<std::int32_t> start() const { return {}; }

  // Text to these ids and back, as a tokenizer.json.
  virtual std::string tokenizer_json() const = 0;
};

// Throws ConfigError or FileError.
std::unique_ptr<Task> make_task(const Config& config);

// A tokenizer.json of whole words, separated by spaces. The last of them is that of unknown ones. A pair of
// texts is a source and a target, before which the word `start` stands, if there is one.
std::string word_tokenizer(const std::vector<std::string>& words, const std::string& start = {});
// Of single bytes: id b is byte b. With [MASK], if wanted, as one token more.
std::string byte_tokenizer(bool mask = false);

std::unique_ptr<Task> make_recall(const Config& config);
std::unique_ptr<Task> make_copy(const Config& config);
std::unique_ptr<Task> make_reverse(const Config& config);
std::unique_ptr<Task> make_text(const Config& config);
std::unique_ptr<Task> make_masked(const Config& config);

}  // namespace attend::learn
