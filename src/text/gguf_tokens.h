// The tokens of a GGUF file: their texts, kinds and scores, and those that have a part to play.
#pragma once

#include <attend/gguf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/vocabulary.h"

namespace attend::text {

// As the format numbers them; other numbers are read as normal.
enum class GgufTokenKind : std::uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

// Everything is compared with the number of tokens; throws FileError.
class GgufTokens {
 public:
  explicit GgufTokens(const Gguf& file);

  const Gguf& file() const { return file_; }
  std::int64_t size() const { return static_cast<std::int64_t>(texts_.size()); }
  const std::vector<std::string_view>& texts() const { return texts_; }  // UTF-8, in the file
  GgufTokenKind kind(std::size_t id) const { return kinds_.empty() ? GgufTokenKind::normal : kinds_[id]; }
  std::vector<float> scores() const;  // one for each token

  // The id under tokenizer.ggml.NAME_token_id, or this one where a token has it.
  std::optional<std::int32_t> id(std::string_view name, std::int64_t otherwise = -1) const;
  std::int32_t required_id(std::string_view name, std::int64_t otherwise = -1) const;

  // Control tokens and those that a user defined, which are found in a text before anything else.
  std::vector<AddedToken> added() const;

  Vocabulary vocabulary() const { return vocabulary_of(texts_); }
  Vocabulary vocabulary_of(const std::vector<std::string_view>& texts) const;  // no token twice

  static std::string key(std::string_view name) { return std::string("tokenizer.ggml.").append(name); }

 private:
  const Gguf& file_;
  std::vector<std::string_view> texts_;
  std::vector<GgufTokenKind> kinds_;
};

}  // namespace attend::text
