// WordPiece: the longest token that the word starts with, then the longest that goes on from there.
#include "io/utf8.h"
#include "text/subword_model.h"

namespace attend::text {
namespace {

class WordPiece final : public SubwordModel {
 public:
  WordPiece(Vocabulary vocabulary, std::int32_t unknown, std::string_view prefix, std::size_t longest)
      : SubwordModel(std::move(vocabulary)),
        unknown_(unknown),
        longest_(longest),
        continuing_(vocabulary_.trie().walk(Trie::kRoot, prefix)) {}

  std::string_view algorithm() const override { return "WordPiece"; }

  std::int32_t unknown() const override { return unknown_; }

  void tokenize(std::string_view word, std::vector<Token>& tokens, Allowance& allowance) const override {
    const std::size_t before = tokens.size();
    const auto size = static_cast<std::uint32_t>(word.size());
    bool known = size <= longest_ || io::count_chars(word) <= longest_;
    for (std::uint32_t begin = 0; known && begin < size;) {
      const Token token = longest_token(word, begin);
      known = token.id >= 0;
      if (known) tokens.push_back(token);
      if ((tokens.size() - before) % kTokensBetweenLooks == 0) allowance.require_time("WordPiece");
      begin = token.end;
    }
    if (known) return;
    tokens.resize(before);
    tokens.push_back({unknown_, 0, size});
  }

 private:
  Token longest_token(std::string_view word, std::uint32_t begin) const {
    const Trie& trie = vocabulary_.trie();
    Token token{-1, begin, begin};
    Trie::Node node = begin == 0 ? Trie::kRoot : continuing_;
    for (std::uint32_t i = begin; node != Trie::kNone && i < word.size();) {
      node = trie.step(node, word[i++]);
      if (node != Trie::kNone && trie.value(node) >= 0) token = {trie.value(node), begin, i};
    }
    return token;
  }

  std::int32_t unknown_;
  std::size_t longest_;    // in characters; a longer word is unknown
  Trie::Node continuing_;  // after the prefix of tokens that go on, "##"
};

}  // namespace

std::unique_ptr<const SubwordModel> read_word_piece(const io::JsonValue& model) {
  model.only_keys({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  Vocabulary vocabulary = Vocabulary::from_object(model.at("vocab"));
  const io::JsonValue unknown = model.at("unk_token");
  const std::int32_t id = vocabulary.find(unknown.string());
  if (id < 0) unknown.fail(io::quoted(unknown.string()), " is not in the vocabulary");
  const auto longest = model.at("max_input_chars_per_word").integer(0, 1'000'000);
  return std::make_unique<WordPiece>(std::move(vocabulary), id,
                                     model.at("continuing_subword_prefix").string(),
                                     static_cast<std::size_t>(longest));
}

std::unique_ptr<const SubwordModel> make_word_piece(Vocabulary vocabulary, std::int32_t unknown) {
  return std::make_unique<WordPiece>(std::move(vocabulary), unknown, "##", 100);
}

}  // namespace attend::text
