#include <attend/words.h>

#include <algorithm>

#include "io/utf8.h"
#include "text/unicode.h"

namespace attend {
namespace {

using namespace text;

struct Character {
  char32_t c;
  std::size_t begin, end;  // in bytes
};

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = io::next_char(text, at);
    characters.push_back({c, begin, at});
  }
  return characters;
}

bool of_word(char32_t c) { return is(c, kLetter | kNumber | kMark) || c == U'_'; }

// What may stand inside a word, between two characters of it.
bool joins(char32_t before, char32_t c, char32_t after) {
  switch (c) {
    case U'\'':
    case U'\u2019':  // ’
    case U'.':
    case U'-':
    case U'\u2010':  // hyphen, and the one that does not break
    case U'\u2011':
      return of_word(before) && of_word(after) && !is_ideograph(before) && !is_ideograph(after);
    case U',':
    case U':':
      return is(before, kNumber) && is(after, kNumber);
    default:
      return false;
  }
}

std::vector<TextSpan> split(const std::vector<Character>& text) {
  std::vector<TextSpan> words;
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i].c : U' '; };
  std::int32_t state = 0;
  bool open = false;  // the last word may go on
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char32_t c = at(i), before = i > 0 ? at(i - 1) : U' ';
    const bool same_grapheme = i > 0 && !grapheme_break(before, c, state);
    const auto place = static_cast<std::int32_t>(i);
    if (is(c, kWhite)) {
      open = false;
      continue;
    }
    const bool goes_on = open && (same_grapheme ||
                                  (!is_ideograph(c) && !is_ideograph(before) && of_word(c) &&
                                   (of_word(before) || (i > 1 && joins(at(i - 2), before, c)))) ||
                                  joins(before, c, at(i + 1)) || (c == before && !of_word(c)));
    if (!goes_on) words.push_back({place, place});
    words.back().end = place + 1;
    open = true;
  }
  return words;
}

// A text and its words.
struct Split {
  std::string text;  // valid UTF-8
  std::vector<Character> characters;
  std::vector<TextSpan> words;

  explicit Split(std::string_view given)
      : text(io::is_utf8(given) ? std::string(given) : io::repair_utf8(given)),
        characters(characters_of(text)),
        words(split(characters)) {}

  std::string between(TextSpan place) const {
    if (place.begin >= place.end) return {};
    const std::size_t begin = characters[static_cast<std::size_t>(place.begin)].begin;
    return text.substr(begin, characters[static_cast<std::size_t>(place.end) - 1].end - begin);
  }
};

// The words of tokens first .. first + tokens.size() - 1, added to a list.
void add_words(const Split& text, std::span<const TextSpan> tokens, std::int64_t first, std::int32_t part,
               std::vector<Word>& list) {
  if (text.words.empty()) return;
  const std::size_t before = list.size();
  std::size_t word = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    // White space before a word belongs to it, as in " the" of GPT-2.
    while (word + 1 < text.words.size() && text.words[word].end <= tokens[i].begin) ++word;
    const auto token = first + static_cast<std::int64_t>(i);
    // A token of several words makes them one.
    const std::size_t from = word;
    while (word + 1 < text.words.size() && text.words[word + 1].begin < tokens[i].end) ++word;
    const TextSpan place{text.words[from].begin, text.words[word].end};
    if (list.size() > before && list.back().place.end > place.begin) {
      list.back().place.end = std::max(list.back().place.end, place.end);
      list.back().last_token = token + 1;
    } else {
      list.push_back({.place = place, .first_token = token, .last_token = token + 1, .part = part});
    }
  }
  for (std::size_t i = before; i < list.size(); ++i) list[i].text = text.between(list[i].place);
}

}  // namespace

std::vector<TextSpan> split_words(std::string_view text) { return Split(text).words; }

bool has_letters(std::string_view word) {
  const std::string text = io::is_utf8(word) ? std::string(word) : io::repair_utf8(word);
  const std::vector<Character> characters = characters_of(text);
  return std::any_of(characters.begin(), characters.end(),
                     [](const Character& each) { return is(each.c, kLetter | kNumber); });
}

std::vector<Word> words_of(std::string_view text, std::span<const TextSpan> tokens) {
  std::vector<Word> words;
  add_words(Split(text), tokens, 0, 0, words);
  return words;
}

namespace {

// name(i) is that of token i, should it be a special one.
template <class Name>
std::vector<Word> words_with(const Name& name, const Encoding& tokens, std::string_view text,
                             std::string_view second) {
  const Split texts[] = {Split(text), Split(second)};
  std::vector<Word> words;
  std::int32_t part = 0;
  bool seen = false;  // a token of this part
  for (std::size_t i = 0; i < tokens.size();) {
    const auto place = static_cast<std::int64_t>(i);
    std::size_t end = i + 1;
    const bool blank = texts[part].words.empty();
    if (tokens.special[i] != 0 || blank) {
      words.push_back({.text = std::string(name(i)),
                       .first_token = place,
                       .last_token = place + 1,
                       .part = part,
                       .special = true});
      if (seen && !second.empty()) part = 1;
    } else {
      // Where a pair has nothing in between, the second text shows by starting over.
      while (end < tokens.size() && tokens.special[end] == 0 &&
             tokens.offsets[end].begin >= tokens.offsets[end - 1].begin)
        ++end;
      if (seen && !second.empty() && tokens.special[i - 1] == 0) part = 1;
      add_words(texts[part], std::span(tokens.offsets).subspan(i, end - i), place, part, words);
      seen = true;
    }
    i = end;
  }
  return words;
}

}  // namespace

std::vector<Word> words_of(const Tokenizer& tokenizer, const Encoding& tokens, std::string_view text,
                           std::string_view second) {
  std::vector<Word> words =
      words_with([&](std::size_t i) { return tokenizer.token(tokens.ids[i]); }, tokens, text, second);
  const std::optional<std::int32_t> unknown = tokenizer.unknown();
  for (Word& word : words) {
    const auto first = tokens.ids.begin() + word.first_token, last = tokens.ids.begin() + word.last_token;
    word.unknown = unknown && !word.special && std::find(first, last, *unknown) != last;
  }
  return words;
}

std::vector<Word> words_of(std::span<const std::string> names, const Encoding& tokens,
                           std::string_view text) {
  return words_with([&](std::size_t i) -> const std::string& { return names[i]; }, tokens, text, {});
}

}  // namespace attend
