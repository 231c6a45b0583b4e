#include <attend/word_kinds.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "io/utf8.h"
#include "text/unicode.h"

namespace attend {
namespace {

constexpr std::string_view kPronouns =
    " i you he she it we they me him her us them my your his its our their mine yours hers ours theirs "
    "myself "
    "yourself himself herself itself ourselves yourselves themselves who whom whose ";
constexpr std::string_view kArticles = " a an the ";
constexpr std::string_view kPrepositions =
    " about above across after against among around at before behind below between by down during for from "
    "in "
    "into near of off on onto out over since through to toward towards under until up upon with without ";
constexpr std::string_view kConjunctions =
    " and or but nor so yet because if while although though unless when whereas than ";

// The list of a kind that is one; empty for any other name.
std::string_view list_of_kind(std::string_view name) {
  if (name == "pronoun") return kPronouns;
  if (name == "article") return kArticles;
  if (name == "preposition") return kPrepositions;
  return name == "conjunction" ? kConjunctions : std::string_view();
}

std::u32string kind_characters(std::string_view text) {
  std::u32string characters;
  for (std::size_t at = 0; at < text.size();) characters += io::next_char(text, at);
  return characters;
}

std::u32string kind_in_lower_case(std::string_view text) {
  std::u32string lower;
  for (const char32_t c : kind_characters(text)) {
    char32_t one[2];
    lower.append(one, static_cast<std::size_t>(text::lower_case(c, one)));
  }
  return lower;
}

bool any_is(const std::u32string& characters, unsigned flags) {
  return std::any_of(characters.begin(), characters.end(), [&](char32_t c) { return text::is(c, flags); });
}

bool ends_a_sentence(const Word& word) {
  return word.special || word.text == "." || word.text == "!" || word.text == "?" || word.text == "..." ||
         word.text == "。";
}

bool is_in_list(std::string_view list, const Word& word) {
  const std::u32string lower = kind_in_lower_case(word.text);
  std::string ascii = " ";
  for (const char32_t c : lower) {
    if (c > 127 || c == U' ') return false;
    ascii += static_cast<char>(c);
  }
  return list.find(ascii + " ") != std::string_view::npos;
}

bool is_name(std::span<const Word> words, std::size_t i) {
  const std::u32string characters = kind_characters(words[i].text);
  if (characters.empty() || !text::is(characters.front(), text::kLetter)) return false;
  if (!text::is(characters.front(), text::kCasesLower) || words[i].text == "I") return false;
  return i > 0 && !ends_a_sentence(words[i - 1]);
}

bool is_of(std::string_view item, std::span<const Word> words, std::size_t i) {
  const Word& word = words[i];
  if (item == "special") return word.special;
  if (word.special) return false;
  if (const std::string_view list = list_of_kind(item); !list.empty()) return is_in_list(list, word);
  if (item == "name") return is_name(words, i);
  const bool spelled = any_is(kind_characters(word.text), text::kLetter | text::kNumber);
  if (item == "punctuation") return !spelled;
  if (item == "word") return spelled;
  if (item == "number") {
    const std::u32string characters = kind_characters(word.text);
    return text::is(characters.front(), text::kNumber) && !any_is(characters, text::kLetter);
  }
  if (item.starts_with('=')) item.remove_prefix(1);
  return kind_in_lower_case(item) == kind_in_lower_case(word.text);
}

}  // namespace

WordKinds::WordKinds(std::string_view list) : text_(list) {
  for (std::string_view rest = list;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (item.empty() || item == "=") {
      refuse("words", "\"", list,
             "\" has an empty item: expected words or kinds of words, such as it,he or pronoun");
    }
    items_.emplace_back(item);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<bool> WordKinds::in(std::span<const Word> words) const {
  std::vector<bool> chosen(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].text.empty()) continue;
    chosen[i] = std::any_of(items_.begin(), items_.end(),
                            [&](const std::string& item) { return is_of(item, words, i); });
  }
  return chosen;
}

}  // namespace attend
