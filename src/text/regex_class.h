// What stands for one character in a regular expression of Oniguruma: escapes, properties, classes; written
// for PCRE2.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/regex_cursor.h"

namespace attend::text {

// A set of characters.
struct CharacterSet {
  std::string plain{};                // the inside of a class of PCRE2
  std::vector<std::string> others{};  // expressions that match one character each, for what no class can say
  bool negated = false;
  bool cased = false;  // has letters, to which Oniguruma adds others inside a class where case is ignored

  std::string written() const;  // an expression that matches one character of the set
  void add(const CharacterSet& other);
};

// \d \s \w \h and their opposites, \p{name}, \P{name}: the cursor is after the backslash, and moves on if it
// is one of these.
std::optional<CharacterSet> read_set_escape(RegexCursor& cursor, bool in_class);

// The character that an escape stands for, or that follows the backslash: the cursor is after it.
char32_t read_character_escape(RegexCursor& cursor, bool in_class);

// [...] with the cursor after the first bracket.
CharacterSet read_class(RegexCursor& cursor, bool ignore_case, int depth = 0);

// One character of a class or outside, as PCRE2 reads it with nothing special about it.
std::string written_character(char32_t c);

// Where case is ignored Oniguruma takes some characters for several ("ß" for "ss"), and PCRE2 does not. Those
// about which the two cannot differ.
bool has_simple_case(char32_t c);

// Property names as both sides know them: what stands between the braces to the inside of a class.
std::optional<CharacterSet> property_set(std::string_view name);
CharacterSet digit_set();
CharacterSet space_set();
CharacterSet word_set(bool in_class = false);

}  // namespace attend::text
