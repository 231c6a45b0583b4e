// A text as ids, and the part at its end that is not learned from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "learn/config.h"
#include "train/model.h"

namespace attend::learn {

class Corpus {
 public:
  // data.file, by data.tokenizer or by bytes. `masks`: the tokenizer must have a mask token. Throws
  // ConfigError and FileError, also for a text that is too short.
  Corpus(const Config& config, bool masks);

  std::int64_t vocabulary() const noexcept { return vocabulary_; }
  std::int32_t mask() const noexcept { return mask_; }
  const std::string& tokenizer_json() const noexcept { return tokenizer_; }

  // Windows of `length` tokens, where the target of each token is the one that follows it: batch `number` of
  // a seed to learn from; and those of the part that is held out, all of them, or evenly spread where there
  // are too many.
  train::Batch window_batch(std::uint64_t seed, std::uint64_t number) const;
  std::vector<train::Batch> held_out() const;

 private:
  void add_window(std::int64_t first, train::Batch& batch) const;

  std::int64_t length_, batch_;
  std::int64_t vocabulary_ = 0, split_ = 0;
  std::int32_t mask_ = -1;
  std::string tokenizer_;
  std::vector<std::int32_t> ids_;
};

}  // namespace attend::learn
