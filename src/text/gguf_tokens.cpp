#include "text/gguf_tokens.h"

#include <algorithm>
#include <cmath>

#include "io/fail.h"
#include "io/utf8.h"

namespace attend::text {
namespace {

constexpr std::size_t kMostTokenBytes = std::size_t{64} << 20;  // Gemma's 262,144 tokens have 3 MB

}  // namespace

GgufTokens::GgufTokens(const Gguf& file) : file_(file) {
  const std::string where = key("tokens");
  const GgufValue tokens = file.at(where);
  if (tokens.count() > static_cast<std::uint64_t>(kMaxId))
    io::fail(file.file(), where, "has ", tokens.count(), " tokens, expected at most ", kMaxId);
  std::size_t bytes = 0;
  tokens.for_each_string([&](std::string_view text) {
    if (!io::is_utf8(text)) io::fail(file.file(), where, "token ", texts_.size(), " is not UTF-8");
    bytes += text.size();
    if (bytes > kMostTokenBytes)
      io::fail(file.file(), where, "has more than ", kMostTokenBytes, " bytes of text");
    texts_.push_back(text);
  });
  if (texts_.empty()) io::fail(file.file(), where, "is empty");
  const std::string kinds = key("token_type");
  if (!file.contains(kinds)) return;
  for (const std::int64_t kind : file.at(kinds).integers()) {
    kinds_.push_back(kind >= 1 && kind <= 6 ? static_cast<GgufTokenKind>(kind) : GgufTokenKind::normal);
  }
  if (kinds_.size() != texts_.size())
    io::fail(file.file(), kinds, "has ", kinds_.size(), " numbers for ", texts_.size(), " tokens");
}

std::vector<float> GgufTokens::scores() const {
  std::vector<float> scores = file_.at(key("scores")).numbers();
  if (scores.size() != texts_.size())
    io::fail(file_.file(), key("scores"), "has ", scores.size(), " numbers for ", texts_.size(), " tokens");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) io::fail(file_.file(), key("scores"), "that of token ", i, " is not a number");
  }
  return scores;
}

std::optional<std::int32_t> GgufTokens::id(std::string_view name, std::int64_t otherwise) const {
  const std::string where = key(std::string(name).append("_token_id"));
  if (file_.contains(where)) return static_cast<std::int32_t>(file_.integer(where, 0, size() - 1));
  if (otherwise < 0 || otherwise >= size()) return std::nullopt;
  return static_cast<std::int32_t>(otherwise);
}

std::int32_t GgufTokens::required_id(std::string_view name, std::int64_t otherwise) const {
  const std::optional<std::int32_t> found = id(name, otherwise);
  if (!found) io::fail(file_.file(), key(std::string(name).append("_token_id")), "is not there");
  return *found;
}

std::vector<AddedToken> GgufTokens::added() const {
  std::vector<AddedToken> added;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const GgufTokenKind of = kind(i);
    const bool special = of == GgufTokenKind::control || of == GgufTokenKind::unknown;
    if ((!special && of != GgufTokenKind::user_defined) || texts_[i].empty()) continue;
    AddedToken token;
    token.content = texts_[i];
    token.id = static_cast<std::int32_t>(i);
    token.special = special;
    added.push_back(std::move(token));
  }
  return added;
}

Vocabulary GgufTokens::vocabulary_of(const std::vector<std::string_view>& texts) const {
  std::int64_t duplicate = -1;
  Vocabulary vocabulary = Vocabulary::from_list(texts, duplicate);
  if (duplicate >= 0) {
    io::fail(file_.file(), key("tokens"), "token ", duplicate, ", ",
             io::quoted(texts[static_cast<std::size_t>(duplicate)]), ", is there twice");
  }
  return vocabulary;
}

}  // namespace attend::text
