// A causal model that writes, over a cache of keys and values: GPT-2's family, and all that `attend train`
// makes of attention, with a source or without.
#pragma once

#include <attend/model_files.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "learn/reading_stack.h"

namespace attend::learn {

class Decoder {
 public:
  // Throws FileError for a model that does not write.
  explicit Decoder(const ModelFiles& files);

  // Reads these tokens after all before them; the logits of what follows the last, (vocabulary). Throws
  // std::invalid_argument for ids outside the vocabulary, more tokens than there are positions, and where a
  // source should have been read first.
  Tensor read(std::span<const std::int32_t> ids);
  void forget();  // all tokens; not the source

  // Whether it answers a source, which read_source() reads in place of the one before; all tokens are
  // forgotten. An answer begins behind start().
  bool has_source() const noexcept { return encoder_.has_value(); }
  void read_source(std::span<const std::int32_t> ids);
  std::int32_t start() const noexcept { return start_; }

  std::int64_t length() const noexcept { return blocks_->length(); }
  std::int64_t most_tokens() const noexcept { return shape_.length; }

 private:
  explicit Decoder(const StoredModel& model, const std::string& file);
  // (n, E): words, and places from `first` on.
  Tensor embedded(std::span<const std::int32_t> ids, std::int64_t first, const ReadingNorm& norm) const;

  train::ModelShape shape_;
  std::int32_t start_ = -1;
  Tensor words_, positions_;  // positions: learned ones; else (0, E)
  PackedMatrix output_;
  ReadingNorm embedding_norm_, source_embedding_norm_, final_norm_, source_norm_;
  std::optional<ReadingStack> blocks_, encoder_;
  bool source_read_ = false;
};

}  // namespace attend::learn
