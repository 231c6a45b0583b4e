// Byte pair encoding: start with single characters and merge, the pair of the lowest rank first.
#include "text/bpe.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <string>

#include "io/utf8.h"
#include "text/word_cache.h"

namespace attend::text {
namespace {

// A token in the making: its id and how many bytes it has. 0 bytes: it has gone into its neighbour on the
// left.
struct Symbol {
  std::int32_t id;
  std::uint32_t size;
};

class Bpe final : public SubwordModel {
 public:
  Bpe(Vocabulary vocabulary, MergeTable merges, BpeOptions options)
      : SubwordModel(std::move(vocabulary)), merges_(std::move(merges)), options_(std::move(options)) {
    continuing_ = vocabulary_.trie().walk(Trie::kRoot, options_.prefix);
    for (std::size_t byte = 0; options_.byte_fallback && byte < 256; ++byte) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      byte_ids_.push_back(vocabulary_.find("<0x" + std::string{kDigits[byte >> 4], kDigits[byte & 15], '>'}));
    }
  }

  std::string_view algorithm() const override { return "BPE"; }

  std::int32_t unknown() const override { return options_.unknown; }

  void tokenize(std::string_view word, std::vector<Token>& tokens, Allowance&) const override {
    if (options_.ignore_merges) {
      if (const std::int32_t id = vocabulary_.find(word); id >= 0) {
        tokens.push_back({id, 0, static_cast<std::uint32_t>(word.size())});
        return;
      }
    }
    WordCache::tokenize(owner_, word, tokens, [&] { merge_word(word, tokens); });
  }

 private:
  // Above this length a queue finds the best pair sooner than a look at all of them.
  static constexpr std::size_t kShort = 48;

  void merge_word(std::string_view word, std::vector<Token>& tokens) const {
    thread_local std::vector<Symbol> symbols;
    symbols.clear();
    symbols.reserve(io::count_chars(word));
    split(word, symbols);
    if (symbols.size() <= kShort) {
      merge_short(symbols);
    } else {
      merge_long(symbols);
    }
    std::uint32_t at = 0;
    for (const Symbol& symbol : symbols) {
      if (symbol.size == 0) continue;
      tokens.push_back({symbol.id, at, at + symbol.size});
      at += symbol.size;
    }
    if (symbols.capacity() > (1 << 16)) symbols = {};
  }

  void split(std::string_view word, std::vector<Symbol>& symbols) const {
    std::optional<Symbol> unknown;  // not yet written: the next may be joined to it
    const auto write_unknown = [&] {
      if (unknown) symbols.push_back(*unknown);
      unknown.reset();
    };
    for (std::size_t i = 0; i < word.size();) {
      const auto size = static_cast<std::uint32_t>(io::utf8_size(word[i]));
      const std::string_view character = word.substr(i, size);
      const std::int32_t id = id_of(character, i == 0, i + size == word.size());
      i += size;
      if (id >= 0) {
        write_unknown();
        symbols.push_back({id, size});
      } else if (!add_bytes(character, symbols) && options_.unknown >= 0) {
        if (unknown && options_.fuse_unknown) {
          unknown->size += size;
        } else {
          write_unknown();
          unknown = Symbol{options_.unknown, size};
        }
      }
    }
    write_unknown();
  }

  std::int32_t id_of(std::string_view character, bool first, bool last) const {
    const Trie& trie = vocabulary_.trie();
    Trie::Node node = first ? Trie::kRoot : continuing_;
    if (node != Trie::kNone) node = trie.walk(node, character);
    if (node != Trie::kNone && last) node = trie.walk(node, options_.suffix);
    return node == Trie::kNone ? -1 : trie.value(node);
  }

  // The bytes of a character as tokens, where there is one for each of them.
  bool add_bytes(std::string_view character, std::vector<Symbol>& symbols) const {
    if (!options_.byte_fallback) return false;
    const auto id = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    if (std::any_of(character.begin(), character.end(), [&](char byte) { return id(byte) < 0; }))
      return false;
    for (const char byte : character) symbols.push_back({id(byte), 1});
    return true;
  }

  void merge_short(std::vector<Symbol>& symbols) const {
    MergeTable::Merge merges[kShort];
    const auto look_up = [&](std::size_t i) {
      merges[i] =
          i + 1 < symbols.size() ? merges_.find(symbols[i].id, symbols[i + 1].id) : MergeTable::Merge{};
    };
    for (std::size_t i = 0; i < symbols.size(); ++i) look_up(i);
    while (symbols.size() > 1) {
      const MergeTable::Merge* const best = std::min_element(
          merges, merges + symbols.size() - 1, [](const auto& a, const auto& b) { return a.rank < b.rank; });
      if (best->rank == MergeTable::kNever) break;
      const auto at = static_cast<std::size_t>(best - merges);
      symbols[at] = {best->id, symbols[at].size + symbols[at + 1].size};
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      std::copy(merges + at + 2, merges + symbols.size() + 1, merges + at + 1);
      look_up(at);
      if (at > 0) look_up(at - 1);
    }
  }

  void merge_long(std::vector<Symbol>& symbols) const {
    // Four bytes each: a word of millions of characters is worked on as a whole.
    struct Links {
      std::uint32_t previous, next;
    };
    struct Candidate {
      std::uint32_t rank;
      std::uint32_t at;
      std::int32_t id;
      bool operator>(const Candidate& other) const {
        return rank != other.rank ? rank > other.rank : at > other.at;
      }
    };
    constexpr std::uint32_t kNone = UINT32_MAX;
    std::vector<Links> links(symbols.size());
    std::vector<Candidate> first;
    first.reserve(symbols.size());
    for (std::uint32_t i = 0; i < symbols.size(); ++i) {
      links[i] = {i == 0 ? kNone : i - 1, i + 1 == symbols.size() ? kNone : i + 1};
      if (i + 1 == symbols.size()) break;
      const auto merge = merges_.find(symbols[i].id, symbols[i + 1].id);
      if (merge.rank != MergeTable::kNever) first.push_back({merge.rank, i, merge.id});
    }
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue(std::greater<>{},
                                                                                 std::move(first));
    const auto add = [&](std::uint32_t left) {
      const std::uint32_t right = left == kNone ? kNone : links[left].next;
      if (right == kNone) return;
      const auto merge = merges_.find(symbols[left].id, symbols[right].id);
      if (merge.rank != MergeTable::kNever) queue.push({merge.rank, left, merge.id});
    };
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      const std::uint32_t left = best.at, right = links[left].next;
      if (symbols[left].size == 0 || right == kNone) continue;
      if (merges_.find(symbols[left].id, symbols[right].id).id != best.id)
        continue;  // one of the two has changed
      symbols[left] = {best.id, symbols[left].size + symbols[right].size};
      symbols[right].size = 0;
      links[left].next = links[right].next;
      if (links[left].next != kNone) links[links[left].next].previous = left;
      add(links[left].previous);
      add(left);
    }
  }

  MergeTable merges_;
  BpeOptions options_;
  Trie::Node continuing_ = Trie::kRoot;  // after the prefix
  std::vector<std::int32_t> byte_ids_;
  std::uint32_t owner_ = WordCache::new_owner();
};

struct Pair {
  std::string_view left, right;
};

// ["a", "b"], or "a b" in files of early versions.
Pair read_pair(const io::JsonValue& merge) {
  if (merge.is_string()) {
    const std::string_view text = merge.string();
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      merge.fail("expected two tokens with a space between, found ", io::quoted(text));
    }
    return {text.substr(0, space), text.substr(space + 1)};
  }
  const io::JsonValue::Elements tokens = merge.elements();
  if (tokens.size() != 2) merge.fail("expected two tokens, found ", tokens.size());
  return {tokens[0].string(), tokens[1].string()};
}

MergeTable read_merges(const io::JsonValue& merges, const Vocabulary& vocabulary, std::size_t prefix_size) {
  const io::JsonValue::Elements list = merges.elements();
  MergeTable table(list.size());
  std::string merged;
  std::uint32_t rank = 0;
  for (const io::JsonValue merge : list) {
    if (merge.is_string() && merge.string().starts_with("#version")) continue;
    const auto [left, right] = read_pair(merge);
    const auto id_of = [&](std::string_view token) {
      const std::int32_t id = vocabulary.find(token);
      if (id < 0) merge.fail(io::quoted(token), " is not in the vocabulary");
      return id;
    };
    const std::int32_t left_id = id_of(left), right_id = id_of(right);
    if (right.size() < prefix_size) merge.fail(io::quoted(right), " is shorter than the prefix");
    merged.assign(left).append(right.substr(prefix_size));
    table.insert(left_id, right_id, {rank++, id_of(merged)});
  }
  return table;
}

}  // namespace

std::unique_ptr<const SubwordModel> read_bpe(const io::JsonValue& model) {
  model.only_keys({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                   "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (const auto dropout = model.find("dropout"); dropout && dropout->number() != 0) {
    dropout->fail("is ", dropout->number(), ": encoding by chance is not supported");
  }
  Vocabulary vocabulary = Vocabulary::from_object(model.at("vocab"));
  BpeOptions options;
  if (const auto unknown = model.find("unk_token")) {
    options.unknown = vocabulary.find(unknown->string());
    if (options.unknown < 0) unknown->fail(io::quoted(unknown->string()), " is not in the vocabulary");
  }
  if (const auto prefix = model.find("continuing_subword_prefix")) options.prefix = prefix->string();
  if (const auto suffix = model.find("end_of_word_suffix")) options.suffix = suffix->string();
  options.fuse_unknown = model.boolean("fuse_unk", false);
  options.byte_fallback = model.boolean("byte_fallback", false);
  options.ignore_merges = model.boolean("ignore_merges", false);
  if (options.byte_fallback && (!options.prefix.empty() || !options.suffix.empty())) {
    model.fail("byte_fallback together with a prefix or suffix of subwords is not supported");
  }
  MergeTable merges = read_merges(model.at("merges"), vocabulary, options.prefix.size());
  return make_bpe(std::move(vocabulary), std::move(merges), std::move(options));
}

std::unique_ptr<const SubwordModel> make_bpe(Vocabulary vocabulary, MergeTable merges, BpeOptions options) {
  return std::make_unique<Bpe>(std::move(vocabulary), std::move(merges), std::move(options));
}

}  // namespace attend::text
