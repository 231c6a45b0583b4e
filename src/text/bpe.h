// Byte pair encoding, for those who make it of something else than a tokenizer.json.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "text/merge_table.h"
#include "text/subword_model.h"

namespace attend::text {

struct BpeOptions {
  std::int32_t unknown = -1;  // -1: characters that are not in the vocabulary are left out
  std::string prefix{};       // of characters that do not start a word
  std::string suffix{};       // of the character that ends a word
  bool fuse_unknown = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
};

std::unique_ptr<const SubwordModel> make_bpe(Vocabulary vocabulary, MergeTable merges, BpeOptions options);

}  // namespace attend::text
