// The tokens of a model and their ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json_document.h"
#include "text/trie.h"

namespace attend::text {

// More tokens than any model has rows for. Keeps memory in step with the file: an id costs four bytes.
inline constexpr std::int64_t kMaxId = (1 << 24) - 1;

class Vocabulary {
 public:
  Vocabulary() = default;

  // {"token": id, ...}: no token and no id twice. Ids may have gaps.
  static Vocabulary from_object(const io::JsonValue& vocab);

  // The tokens with the ids 0, 1, 2, ... `duplicate` gets the number of a token that was there before, or
  // stays -1.
  static Vocabulary from_list(const std::vector<std::string_view>& tokens, std::int64_t& duplicate);

  std::int32_t find(std::string_view token) const { return trie_.find(token); }  // -1: not there
  const Trie& trie() const { return trie_; }

  std::int64_t size() const { return static_cast<std::int64_t>(places_.size()); }  // the largest id and one
  std::size_t count() const { return count_; }
  bool has(std::int64_t id) const {
    return id >= 0 && id < size() && places_[static_cast<std::size_t>(id)].end != 0;
  }
  std::string_view token(std::int64_t id) const {
    if (!has(id)) return {};
    const Place place = places_[static_cast<std::size_t>(id)];
    return std::string_view(bytes_).substr(place.begin, place.end - 1 - place.begin);
  }

 private:
  struct Place {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;  // one past the token and its closing zero; 0: no token has this id
  };
  using Entries = std::vector<std::pair<std::string_view, std::int32_t>>;
  void store(std::string_view token, std::size_t id);

  std::string bytes_;
  std::vector<Place> places_;
  std::size_t count_ = 0;
  Trie trie_;
};

}  // namespace attend::text
