// Some words of a text, chosen by a list or by their kind.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <attend/words.h>

namespace attend {

// A list such as "it,he,she" or "pronoun,there". Its items are words, in any case of letters, or kinds:
// pronoun, article, preposition and conjunction (the English ones), name (a capital letter that does not
// begin a sentence), number, punctuation, special (tokens such as [CLS]), word (any that is neither
// punctuation nor special). "=number" is the word "number".
class WordKinds {
 public:
  // Throws std::invalid_argument where the list or an item is empty.
  explicit WordKinds(std::string_view list);

  // Which of these words of one text are of the list.
  std::vector<bool> in(std::span<const Word> words) const;
  // The list as it was given.
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::vector<std::string> items_;
};

}  // namespace attend
