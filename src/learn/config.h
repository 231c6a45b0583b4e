// The configuration of `attend train`: one list of keys, which is read, set, printed and checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <attend/precision.h>

#include "model/own_model.h"
#include "train/optimiser.h"

namespace attend::learn {

struct Config {
  std::string task = "recall";
  model::OwnModel model{};  // kind, vocabulary and length follow from the task
  double dropout = 0;       // of embeddings, weights and what each part adds
  bool recompute = false;   // keep only what enters a block, and run the block again in the backward pass
  train::AdamWOptions adamw{};
  train::Schedule schedule{};
  Precision precision = Precision::f32;  // or bf16: of products and attention
  std::int64_t batch = 64;               // sequences
  std::int64_t accumulate = 1;           // batches per step
  std::int64_t seed = 1;                 // of the initial values, the data and dropout
  std::int64_t evaluate = 100;           // every this many steps
  std::int64_t save = 500;               // every this many steps, and at the end
  std::int64_t stop_after = 0;           // steps, of this run; 0: all

  std::int64_t pairs = 16, keys = 16, values = 10;  // recall
  std::int64_t distance = 0;                        // recall: words between the pairs and the question
  std::int64_t symbols = 12, length = 12;           // copy, reverse; of text the tokens of a window
  std::string file{};                               // text: a file, or a folder of them
  std::string tokenizer{};                          // text: a tokenizer.json; empty: bytes
  double validation = 0.1;                          // text: the share, at its end, that is not learned from
  double masked = 0.15;                             // masked: the share of tokens that is to be guessed
  std::string encoder{};                            // pairs: the model to start from
  double score_max = 1;                             // pairs: what scores are divided by
};

// What is wrong with a key, in one sentence that does not repeat it.
struct ConfigError : std::runtime_error {
  ConfigError(std::string which, const std::string& rule) : std::runtime_error(rule), key(std::move(which)) {}
  std::string key;
};

// The tasks, and the default configuration of a task. Throws ConfigError for an unknown task.
std::vector<std::string_view> task_names();
Config default_config(std::string_view task);

// A JSON file of sections: {"task": "recall", "model": {"layers": 1}, ...}. Keys that are left out have the
// task's defaults. Throws FileError.
Config read_config(const std::filesystem::path& file);
Config parse_config(std::string text, const std::string& name);  // `name` is what errors call it

// "model.layers", "2". Throws ConfigError for an unknown key and for a value that does not fit it.
void set_key(Config& config, std::string_view key, std::string_view value);

// For tasks that make up their own words: a few hundred bytes each, in a tokenizer.json that readers load
// whole.
inline constexpr std::int64_t kMostWords = std::int64_t{1} << 20;

// Throws ConfigError where numbers make no sense, alone or together.
void check(const Config& config);

// Every key with its value, as such a file.
std::string to_json(const Config& config);

}  // namespace attend::learn
