#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"

namespace attend::text {
namespace {

bool is_word_before(std::string_view text, std::size_t at) {
  return at > 0 && is(io::previous_char(text, at), kWord);
}
bool is_word_at(std::string_view text, std::size_t at) {
  return at < text.size() && is(io::next_char(text, at), kWord);
}

std::size_t without_white_before(std::string_view text, std::size_t at) {
  while (at > 0) {
    std::size_t previous = at;
    if (!is(io::previous_char(text, previous), kWhite)) break;
    at = previous;
  }
  return at;
}

std::size_t end_of_white(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::size_t next = at;
    if (!is(io::next_char(text, next), kWhite)) break;
    at = next;
  }
  return at;
}

void normalize(const Normalizer& normalizer, AlignedText& text, AlignedText& scratch, Allowance& allowance) {
  normalizer.apply(text, scratch, allowance);
  allowance.require_room(text.size(), "the normalizer");
  allowance.require_time("the normalizer");
}

Piece piece(std::size_t begin, std::size_t end, std::int32_t id = -1) {
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), id};
}

}  // namespace

bool has_any_of(std::span<const TextSpan> ranges, const AlignedText& text, std::size_t begin,
                std::size_t end) {
  if (ranges.empty()) return false;
  const TextSpan stretch{text.spans[begin].begin, text.spans[end - 1].end};
  const auto after = std::lower_bound(ranges.begin(), ranges.end(), stretch.begin,
                                      [](const TextSpan& range, std::int32_t at) { return range.end <= at; });
  return after != ranges.end() && after->begin < stretch.end;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer)
    : tokens_(std::move(tokens)) {
  AlignedText text, scratch;
  std::size_t given = 0, made = 0;
  for (const AddedToken& token : tokens_) given += token.content.size();
  Allowance allowance(given);  // for all of them
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    AddedToken& token = tokens_[i];
    token.normal = token.content;
    if (token.normalized && normalizer != nullptr) {
      text.assign(token.content);
      normalize(*normalizer, text, scratch, allowance);
      allowance.put_aside(made += text.size());
      token.normal = text.bytes;
    }
    by_id_[token.id] = i;
    by_content_[token.content] = i;
    largest_id_ = std::max(largest_id_, token.id);
  }
  raw_ = make_finder(tokens_, false);
  normal_ = make_finder(tokens_, true);
}

AddedTokens::Finder AddedTokens::make_finder(const std::vector<AddedToken>& tokens, bool normalized) {
  std::vector<std::pair<std::string_view, std::int32_t>> keys;
  Finder finder;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].normalized != normalized || tokens[i].normal.empty()) continue;
    keys.emplace_back(tokens[i].normal, static_cast<std::int32_t>(i));
    finder.starts[static_cast<unsigned char>(tokens[i].normal[0])] = true;
  }
  // Two that normalize to the same text: the first of them is found.
  std::sort(keys.begin(), keys.end());
  keys.erase(
      std::unique(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
      keys.end());
  finder.any = !keys.empty();
  finder.trie = Trie(std::move(keys));
  return finder;
}

std::optional<Piece> AddedTokens::longest_at(const Finder& finder, std::string_view text,
                                             std::size_t at) const {
  std::optional<Piece> found;
  Trie::Node node = Trie::kRoot;
  for (std::size_t i = at; i < text.size(); ++i) {
    node = finder.trie.step(node, text[i]);
    if (node == Trie::kNone) break;
    if (finder.trie.value(node) >= 0) found = piece(at, i + 1, finder.trie.value(node));
  }
  return found;
}

// Cuts a text around the tokens in it, the leftmost and of those the longest first.
void AddedTokens::find(const Finder& finder, const AlignedText& aligned, std::vector<Piece>& pieces,
                       Allowance& allowance, std::span<const TextSpan> plain) const {
  const std::string_view text = aligned.bytes;
  std::size_t begin = 0, looks = 0;
  for (std::size_t at = 0; finder.any && at < text.size();) {
    if (!finder.starts[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    // A token may be as long as the file.
    if (++looks % 64 == 0) allowance.require_time("the search for added tokens");
    const auto found = longest_at(finder, text, at);
    if (!found) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(found->id)];
    if (token.special && has_any_of(plain, aligned, found->begin, found->end)) {
      ++at;
      continue;
    }
    at = found->end;
    if (token.single_word && (is_word_before(text, found->begin) || is_word_at(text, found->end))) continue;
    std::size_t start = found->begin, stop = found->end;
    if (token.lstrip) start = std::max(without_white_before(text, start), begin);
    if (token.rstrip) stop = end_of_white(text, stop);
    if (begin < start) pieces.push_back(piece(begin, start));
    pieces.push_back(piece(start, stop, token.id));
    begin = stop;
  }
  if (begin < text.size()) pieces.push_back(piece(begin, text.size()));
}

void AddedTokens::extract(std::string_view text, const Normalizer* normalizer, Pieces& pieces,
                          std::span<const TextSpan> plain) const {
  auto& out = pieces.pieces;
  out.clear();
  pieces.text.assign(text);
  find(raw_, pieces.text, out, *pieces.allowance, plain);
  if (out.size() <= 1 && (out.empty() || out[0].id < 0)) {
    if (normalizer != nullptr) normalize(*normalizer, pieces.text, pieces.other_text, *pieces.allowance);
    out.clear();
    find(normal_, pieces.text, out, *pieces.allowance, plain);
    return;
  }
  // Each stretch between tokens is a text of its own to the normalizer.
  AlignedText whole, part, scratch;
  std::vector<Piece> cut;
  pieces.other_pieces.clear();
  for (const Piece& stretch : out) {
    const std::size_t begin = whole.size();
    if (stretch.id >= 0) {
      whole.append(pieces.text, stretch.begin, stretch.end);
      pieces.other_pieces.push_back(piece(begin, whole.size(), stretch.id));
      continue;
    }
    part.clear();
    part.append(pieces.text, stretch.begin, stretch.end);
    pieces.allowance->put_aside(whole.size());
    if (normalizer != nullptr) normalize(*normalizer, part, scratch, *pieces.allowance);
    cut.clear();
    find(normal_, part, cut, *pieces.allowance, plain);
    whole.append(part, 0, part.size());
    for (const Piece& inner : cut) {
      pieces.other_pieces.push_back(piece(begin + inner.begin, begin + inner.end, inner.id));
    }
  }
  pieces.allowance->put_aside(0);
  out.swap(pieces.other_pieces);
  pieces.text.swap(whole);
}

const AddedToken* AddedTokens::by_id(std::int64_t id) const {
  const auto found = id < 0 || id > largest_id_ ? by_id_.end() : by_id_.find(static_cast<std::int32_t>(id));
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::by_content(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

bool AddedTokens::is_special(std::string_view content) const {
  const AddedToken* token = by_content(content);
  return token != nullptr && token->special;
}

std::vector<AddedToken> read_added_tokens(const io::JsonValue& added, const Vocabulary& vocabulary) {
  std::vector<AddedToken> tokens;
  std::unordered_map<std::string, std::int32_t> contents;
  std::unordered_map<std::int32_t, std::string> ids;
  for (const io::JsonValue entry : added.elements()) {
    entry.only_keys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    AddedToken token;
    token.content = entry.at("content").string();
    token.id = static_cast<std::int32_t>(entry.at("id").integer(0, kMaxId));
    token.single_word = entry.at("single_word").boolean();
    token.lstrip = entry.at("lstrip").boolean();
    token.rstrip = entry.at("rstrip").boolean();
    token.normalized = entry.at("normalized").boolean();
    token.special = entry.at("special").boolean();
    if (token.content.empty()) entry.fail("has no content");
    const std::int32_t known = vocabulary.find(token.content);
    if (known >= 0 && known != token.id) {
      entry.fail(io::quoted(token.content), " has the id ", token.id, ", but ", known, " in the vocabulary");
    }
    if (known < 0 && vocabulary.has(token.id)) {
      entry.fail(io::quoted(token.content), " has the id ", token.id, ", which is that of ",
                 io::quoted(vocabulary.token(token.id)), " in the vocabulary");
    }
    if (!contents.emplace(token.content, token.id).second)
      entry.fail(io::quoted(token.content), " occurs twice");
    if (const auto [other, fresh] = ids.emplace(token.id, token.content); !fresh) {
      entry.fail(io::quoted(token.content), " and ", io::quoted(other->second), " both have the id ",
                 token.id);
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace attend::text
