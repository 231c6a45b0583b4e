// Something to be learned: where batches come from, and what their tokens are called.
#pragma once

#include <attend/tokenizer.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
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
  LayerKind kind = LayerKind::whole;  // of the layers in which it is found
  std::vector<std::string> row_labels{}, column_labels{};
  // Which key each query should look at to find its answer; -1: none in particular.
  std::vector<std::int64_t> answers{};
};

// The batches of one step, by their numbers, and where their dropout begins.
struct StepBatches {
  std::uint64_t first = 0;
  std::int64_t count = 1;
  std::uint64_t dropout_seed = 0;
};

struct Learned {
  double loss = 0;  // the mean over what is guessed or compared
  std::int64_t tokens = 0;
};

// How good a model is on what it never learned from.
struct Measure {
  std::string key;  // as metrics.jsonl has it
  double value = 0;
};
struct Measured {
  double loss = 0;
  // The share of answers that are right; NaN where answers are not right or wrong.
  double accuracy = std::nan("");
  std::vector<Measure> more{};
};

// Something that a training begins with and does not keep.
struct Origin {
  std::string what;  // "model"
  std::string name;
  std::uint64_t fingerprint = 0;
};

class Task {
 public:
  virtual ~Task() = default;

  // What the task decides about a model: its kind, its vocabulary and the longest sequence.
  virtual void complete(model::OwnModel& model) const = 0;
  // The model of this configuration, which the task has completed.
  virtual ModelDescription description(const Config& config) const;
  virtual bool guesses() const { return true; }  // tokens; else only their vectors are used
  // How many sequences a batch of this size has.
  virtual std::int64_t sequences(std::int64_t batch) const { return batch; }

  // Batch number `number` to learn from: a function of the seed and the number alone.
  virtual train::Batch batch(std::uint64_t number) const = 0;
  // What is never learned from, the same each time.
  virtual std::vector<train::Batch> validation() const = 0;

  // Adds the gradient of the mean loss over these batches to that of the parameters. These three, unless
  // overridden, guess tokens.
  virtual Learned learn(train::Model& model, const StepBatches& step) const;
  virtual Measured measure(train::Model& model) const;
  virtual void save(const std::filesystem::path& folder, train::Model& model) const;
  virtual std::vector<std::filesystem::path> files() const;  // that save() writes

  // Sets parameters to start from instead of random ones; returns whether there are any.
  virtual bool fill(train::Model&) const { return false; }
  virtual std::vector<Origin> origins() const { return {}; }

  // What there is to learn from, in a few words; may be empty.
  virtual std::string summary() const { return ""; }
  virtual std::optional<Example> example() const { return {}; }

  // The token before the answer, where a source is answered.
  virtual std::optional<std::int32_t> start() const { return {}; }

  // How many tokens answer a prompt, where the task says.
  virtual std::optional<std::int64_t> answer_length() const { return {}; }

  // Text to these ids and back, as a tokenizer.json.
  virtual std::string tokenizer_json() const = 0;
  // A text as a model of this task reads it.
  virtual Encoding encode(const std::string& text, const Tokenizer& tokenizer) const;
  virtual Tokenizer tokenizer() const { return Tokenizer::from_json(tokenizer_json()); }
};

// Throws ConfigError or FileError.
std::unique_ptr<Task> make_task(const Config& config);

// A tokenizer.json of whole words, separated by spaces. The last of them stands for unknown ones. A pair of
// texts is a source and a target, which begins with the word `start`, if there is one.
std::string word_tokenizer(const std::vector<std::string>& words, const std::string& start = {});
// Of single bytes: id b is byte b. With [MASK], if wanted, as one more token.
std::string byte_tokenizer(bool mask = false);

std::unique_ptr<Task> make_recall(const Config& config);
std::unique_ptr<Task> make_copy(const Config& config);
std::unique_ptr<Task> make_reverse(const Config& config);
std::unique_ptr<Task> make_text(const Config& config);
std::unique_ptr<Task> make_masked(const Config& config);
std::unique_ptr<Task> make_pairs(const Config& config);

}  // namespace attend::learn
