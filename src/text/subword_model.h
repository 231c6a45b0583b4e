// A model: from a word to tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "io/json_document.h"
#include "text/allowance.h"
#include "text/vocabulary.h"

namespace attend::text {

// A token of a word, and the bytes of the word that it covers.
struct Token {
  std::int32_t id;
  std::uint32_t begin, end;
};

// A token may be as long as the file, and a walk along it is taken again from every place of a word: how many
// walks there are between two looks at the time.
inline constexpr std::size_t kTokensBetweenLooks = 64;

class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  // Appends the tokens of a word that is not empty. std::invalid_argument where the allowance is not enough.
  virtual void tokenize(std::string_view word, std::vector<Token>& tokens, Allowance& allowance) const = 0;

  virtual std::string_view algorithm() const = 0;  // as tokenizer.json calls it: "WordPiece"

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // The token of text that the vocabulary does not have, or -1.
  virtual std::int32_t unknown() const = 0;

  // The id whose token is not the text that it stands for in an encoding, or -1.
  virtual std::int32_t id_without_text() const { return -1; }

 protected:
  explicit SubwordModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  const Vocabulary vocabulary_;
};

std::unique_ptr<const SubwordModel> read_model(const io::JsonValue& model);

// One for each type, in the file of that name.
std::unique_ptr<const SubwordModel> read_word_piece(const io::JsonValue& model);
std::unique_ptr<const SubwordModel> make_word_piece(Vocabulary vocabulary, std::int32_t unknown);
std::unique_ptr<const SubwordModel> read_bpe(const io::JsonValue& model);
std::unique_ptr<const SubwordModel> read_unigram(const io::JsonValue& model);
// scores: one for each token.
std::unique_ptr<const SubwordModel> make_unigram(Vocabulary vocabulary, std::vector<double> scores,
                                                 std::int32_t unknown, bool byte_fallback);

}  // namespace attend::text
