// Added tokens: they are found in the text before anything else is done with it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/json_document.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/trie.h"
#include "text/vocabulary.h"

namespace attend::text {

struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false;  // not where a letter or digit is next to it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and after it
  bool normalized = false;   // is looked for in the normalized text
  bool special = false;      // left out by decode(skip_special)
  std::string normal;        // the content, normalized if it is to be
};

// Whether bytes [begin, end) stand for a character of one of these ranges, which are in their order.
bool has_any_of(std::span<const TextSpan> ranges, const AlignedText& text, std::size_t begin,
                std::size_t end);

class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer);

  // Fills `pieces`, which have their allowance, from a valid text: normalized, and cut around added tokens.
  // No special token is found where it has a character of `plain`, ranges in their order.
  void extract(std::string_view text, const Normalizer* normalizer, Pieces& pieces,
               std::span<const TextSpan> plain = {}) const;

  const AddedToken* by_id(std::int64_t id) const;
  const AddedToken* by_content(std::string_view content) const;
  bool is_special(std::string_view content) const;
  std::int32_t largest_id() const { return largest_id_; }

 private:
  // Those to look for in one of the two forms of the text.
  struct Finder {
    Trie trie;
    std::array<bool, 256> starts{};
    bool any = false;
  };
  void find(const Finder& finder, const AlignedText& text, std::vector<Piece>& pieces, Allowance& allowance,
            std::span<const TextSpan> plain) const;
  std::optional<Piece> longest_at(const Finder& finder, std::string_view text, std::size_t at) const;
  static Finder make_finder(const std::vector<AddedToken>& tokens, bool normalized);

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::int32_t, std::size_t> by_id_;
  std::unordered_map<std::string, std::size_t> by_content_;
  std::int32_t largest_id_ = -1;
  Finder raw_, normal_;
};

// The section "added_tokens": consistent with the model's vocabulary and with each other.
std::vector<AddedToken> read_added_tokens(const io::JsonValue& added, const Vocabulary& vocabulary);

}  // namespace attend::text
