// What a tokenizer looks for in a text: a string, or a regular expression as Oniguruma reads it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_document.h"
#include "text/allowance.h"

namespace attend::text {

struct Match {
  std::size_t begin, end;
};

// The bytes of a text whose matches are replaced by something of this size.
inline std::size_t replaced_size(std::size_t text, const std::vector<Match>& matches, std::size_t content) {
  for (const Match& match : matches) text -= match.end - match.begin;
  return text + matches.size() * content;  // neither has more than 32 bits
}

class Pattern {
 public:
  virtual ~Pattern() = default;

  // Appends the matches inside text[begin .. end-1], from left to right, which do not overlap. Nothing before
  // or after is seen. std::invalid_argument where an expression takes too many steps.
  virtual void find(std::string_view text, std::size_t begin, std::size_t end, std::vector<Match>& matches,
                    Allowance& allowance) const = 0;
};

// {"String": "..."} or {"Regex": "..."}
std::unique_ptr<const Pattern> read_pattern(const io::JsonValue& pattern);

// The expression that GPT-2 cuts words with, in code.
const Pattern& gpt2_pattern();

// A regular expression over PCRE2, with a limit on its steps.
std::unique_ptr<const Pattern> compile_pattern(const io::JsonValue& where, std::string_view expression);

}  // namespace attend::text
