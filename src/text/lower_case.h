// A whole text in lower case, as Python's str.lower() makes it, and the way back to the characters it came
// from.
#pragma once

#include <attend/tokenizer.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attend::text {

class LowerCase {
 public:
  // Of valid UTF-8. A capital sigma at the end of a word becomes a final one; the capital I with a dot
  // becomes an i and a dot above it, the only character that becomes two.
  explicit LowerCase(std::string_view text);

  const std::string& text() const noexcept { return text_; }

  // The characters of the given text that a span of this one stands for.
  TextSpan given(TextSpan span) const;

 private:
  std::int32_t given(std::int32_t place) const;

  std::string text_;
  std::vector<std::int32_t> second_;  // places of the dots that share an original with the i before them
};

}  // namespace attend::text
