// What a tokenizer wants to know about a character, decided as `tokenizers` decides it
// (unicode_differences.h).
#pragma once

#include <cstdint>
#include <vector>

namespace attend::text {

enum CharFlags : std::uint16_t {
  kWhite = 1,          // Unicode's White_Space
  kControl = 2,        // removed by BERT's clean_text
  kPunctuation = 4,    // cut off by BERT
  kNonspacing = 8,     // category Mn: removed by BERT's strip_accents
  kMark = 16,          // category M: removed by StripAccents
  kNumeric = 32,       // category N, of the pre-tokenizer Digits
  kWord = 64,          // \w of the pre-tokenizer Whitespace and of added tokens
  kLetter = 128,       // \p{L} in a pattern
  kNumber = 256,       // \p{N} in a pattern
  kDecomposes = 512,   // has a canonical decomposition
  kCompatible = 1024,  // has a canonical or a compatibility decomposition
  kCombining = 2048,   // has a combining class other than 0
  kCasesLower = 4096,  // is not its own lower case
};

namespace detail {
const std::uint16_t* flags_of_block(char32_t block);
}

// The flags of the block of 256 characters are worked out when it is first asked for. Any thread.
inline std::uint16_t char_flags(char32_t c) { return detail::flags_of_block(c >> 8)[c & 0xFF]; }
inline bool is(char32_t c, unsigned flags) { return (char_flags(c) & flags) != 0; }

int combining_class(char32_t c);

// Appends the full decomposition.
void decompose(char32_t c, bool compatible, std::vector<char32_t>& out);

// The character that these two compose to, or 0.
char32_t compose(char32_t first, char32_t second);

// Whether two neighbours are of two graphemes. `state` is 0 at the start of a text and belongs to this
// function.
bool grapheme_break(char32_t previous, char32_t c, std::int32_t& state);

// Writes one or two characters, and returns how many.
int lower_case(char32_t c, char32_t* out);

// An ideograph for BERT: the CJK blocks, and neither kana nor hangul.
constexpr bool is_ideograph(char32_t c) {
  if (c < 0x3400) return false;
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

}  // namespace attend::text
