// Unigram: of all ways to write a word as tokens, the one with the greatest sum of scores.
#include <algorithm>
#include <limits>
#include <string>

#include "io/utf8.h"
#include "text/subword_model.h"
#include "text/word_cache.h"

namespace attend::text {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the lowest score, as in sentencepiece

class Unigram final : public SubwordModel {
 public:
  Unigram(Vocabulary vocabulary, std::vector<double> scores, std::int32_t unknown, bool byte_fallback)
      : SubwordModel(std::move(vocabulary)),
        scores_(std::move(scores)),
        unknown_(unknown),
        unknown_score_(*std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty) {
    for (std::size_t byte = 0; byte_fallback && byte < 256; ++byte) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      byte_ids_.push_back(vocabulary_.find("<0x" + std::string{kDigits[byte >> 4], kDigits[byte & 15], '>'}));
    }
  }

  std::string_view algorithm() const override { return "Unigram"; }

  void tokenize(std::string_view word, std::vector<Token>& tokens, Allowance& allowance) const override {
    WordCache::tokenize(owner_, word, tokens, [&] { work_out(word, tokens, allowance); });
  }

  std::int32_t unknown() const override { return unknown_; }
  std::int32_t id_without_text() const override { return unknown_; }

 private:
  // The best way to write everything before a place: where its last token begins, and which one it is.
  struct Path {
    double score = 0;
    std::uint32_t begin = kNowhere;
    std::int32_t id = 0;
  };
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  void work_out(std::string_view word, std::vector<Token>& tokens, Allowance& allowance) const {
    thread_local std::vector<Path> paths;
    paths.assign(word.size() + 1, Path{});
    find_paths(word, paths, allowance);

    const std::size_t before = tokens.size();
    for (auto end = static_cast<std::uint32_t>(word.size()); end > 0;) {
      const Path& path = paths[end];
      // Unknown characters in a row are one token.
      if (path.id == unknown_ && tokens.size() > before && tokens.back().id == unknown_) {
        tokens.back().begin = path.begin;
      } else {
        tokens.push_back({path.id, path.begin, end});
      }
      end = path.begin;
    }
    std::reverse(tokens.begin() + static_cast<std::ptrdiff_t>(before), tokens.end());
    settle_unknown(word, before, tokens);
    if (paths.capacity() > (1 << 16)) paths = {};
  }

  void find_paths(std::string_view word, std::vector<Path>& paths, Allowance& allowance) const {
    const Trie& trie = vocabulary_.trie();
    for (std::uint32_t begin = 0; begin < word.size();) {
      const double so_far = paths[begin].score;
      const std::uint32_t next = begin + static_cast<std::uint32_t>(io::utf8_size(word[begin]));
      const auto offer = [&](std::uint32_t end, double score, std::int32_t id) {
        Path& path = paths[end];
        if (path.begin == kNowhere || so_far + score > path.score) path = {so_far + score, begin, id};
      };
      bool single = false;
      Trie::Node node = Trie::kRoot;
      for (std::uint32_t i = begin; i < word.size();) {
        node = trie.step(node, word[i++]);
        if (node == Trie::kNone) break;
        const std::int32_t id = trie.value(node);
        if (id < 0) continue;
        offer(i, scores_[static_cast<std::size_t>(id)], id);
        single |= i == next;
      }
      if (!single) offer(next, unknown_score_, unknown_);
      if (begin / kTokensBetweenLooks != next / kTokensBetweenLooks) allowance.require_time("Unigram");
      begin = next;
    }
  }

  // What is unknown is looked up once more as a whole, and then falls back to bytes where there are tokens
  // for them.
  void settle_unknown(std::string_view word, std::size_t first, std::vector<Token>& tokens) const {
    const auto unknown = [&](const Token& token) { return token.id == unknown_; };
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::none_of(begin, tokens.end(), unknown)) return;
    const std::vector<Token> found(begin, tokens.end());
    tokens.resize(first);
    for (Token token : found) {
      if (!unknown(token)) {
        tokens.push_back(token);
        continue;
      }
      const std::string_view text = word.substr(token.begin, token.end - token.begin);
      const std::int32_t whole = vocabulary_.find(text);
      const auto byte_id = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
      const bool bytes = whole < 0 && !byte_ids_.empty() &&
                         std::all_of(text.begin(), text.end(), [&](char byte) { return byte_id(byte) >= 0; });
      if (bytes) {
        for (const char byte : text) tokens.push_back({byte_id(byte), token.begin, token.end});
      } else {
        token.id = whole >= 0 ? whole : unknown_;
        tokens.push_back(token);
      }
    }
  }

  std::vector<double> scores_;
  std::int32_t unknown_;
  double unknown_score_;
  std::vector<std::int32_t> byte_ids_;  // empty: no fallback
  std::uint32_t owner_ = WordCache::new_owner();
};

}  // namespace

std::unique_ptr<const SubwordModel> read_unigram(const io::JsonValue& model) {
  model.only_keys({"type", "unk_id", "vocab", "byte_fallback"});
  const io::JsonValue vocab = model.at("vocab");
  std::vector<std::string_view> tokens;
  std::vector<double> scores;
  for (const io::JsonValue pair : vocab.elements()) {
    const bool two = pair.is_array() && pair.elements().size() == 2;
    if (!two || !pair.elements()[0].is_string() || !pair.elements()[1].is_number()) {
      pair.fail("expected a token and its score");
    }
    tokens.push_back(pair.elements()[0].string());
    scores.push_back(pair.elements()[1].number());
  }
  if (tokens.empty()) vocab.fail("is empty");
  if (static_cast<std::int64_t>(tokens.size()) > kMaxId) vocab.fail("has more than ", kMaxId, " tokens");
  const auto unknown = model.at("unk_id").integer(0, static_cast<std::int64_t>(tokens.size()) - 1);
  std::int64_t duplicate = -1;
  Vocabulary vocabulary = Vocabulary::from_list(tokens, duplicate);
  if (duplicate >= 0)
    vocab.fail("[", duplicate, "] ", io::quoted(tokens[static_cast<std::size_t>(duplicate)]),
               " occurs twice");
  return make_unigram(std::move(vocabulary), std::move(scores), static_cast<std::int32_t>(unknown),
                      model.boolean("byte_fallback", false));
}

std::unique_ptr<const SubwordModel> make_unigram(Vocabulary vocabulary, std::vector<double> scores,
                                                 std::int32_t unknown, bool byte_fallback) {
  return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), unknown, byte_fallback);
}

}  // namespace attend::text
