// Words as people count them, and the tokens that each of them became.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <attend/tokenizer.h>

namespace attend {

// The words of a text, whatever its tokenizer does: what stands between white space, with punctuation cut
// off; "didn't", "well-known", "3.14" and "U.S" are one word each. A CJK ideograph is a word, as is an emoji,
// a sign or a stretch of the same sign ("..."). Characters as in Encoding::offsets.
std::vector<TextSpan> split_words(std::string_view text);

// Whether a word holds a letter or a digit; punctuation and other signs do not.
bool has_letters(std::string_view word);

struct Word {
  std::string text{};  // as it stands in the text; of a special token its name, "[CLS]"
  TextSpan place{};    // {0, 0} for a special token
  std::int64_t first_token = 0, last_token = 0;  // its tokens: [first_token, last_token)
  std::int32_t part = 0;                         // 1 in the second text of a pair
  bool special = false;
  bool unknown = false;  // a token of it is the vocabulary's [UNK]: the model did not see what stands there
};

// The words that tokens at these places stand for, in order; a word that no token stands for is left out, and
// words that share a token are one.
std::vector<Word> words_of(std::string_view text, std::span<const TextSpan> tokens);

// The words of a whole encoding, special tokens included: every token belongs to exactly one of them.
std::vector<Word> words_of(const Tokenizer& tokenizer, const Encoding& tokens, std::string_view text,
                           std::string_view second = {});

// The same for tokens whose tokenizer is not there, but whose names are.
std::vector<Word> words_of(std::span<const std::string> names, const Encoding& tokens, std::string_view text);

// The place of a word in a list: "it", or "the#2" for the second "the". Case is looked at only where it
// matters. Throws std::invalid_argument, which says which words are close, or how to choose one of several.
std::size_t find_word(std::span<const Word> words, std::string_view name);

// All places of a word, whatever its case; "the#2" gives one. None: empty.
std::vector<std::size_t> find_words(std::span<const Word> words, std::string_view name);

}  // namespace attend
