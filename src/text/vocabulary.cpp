#include "text/vocabulary.h"

#include <algorithm>

namespace attend::text {

void Vocabulary::store(std::string_view token, std::size_t id) {
  const auto begin = static_cast<std::uint32_t>(bytes_.size());
  bytes_.append(token);
  bytes_.push_back('\0');
  places_[id] = {begin, static_cast<std::uint32_t>(bytes_.size())};
  ++count_;
}

Vocabulary Vocabulary::from_object(const io::JsonValue& vocab) {
  Vocabulary made;
  Entries entries;
  std::int64_t largest = -1;
  std::size_t bytes = 0;
  for (const auto& [token, value] : vocab.members()) {
    const std::int64_t id = value.integer(0, kMaxId);
    entries.emplace_back(token, static_cast<std::int32_t>(id));
    largest = std::max(largest, id);
    bytes += token.size() + 1;
  }
  // A file of a hundred bytes must not ask for megabytes.
  if (largest >= 1024 + 64 * static_cast<std::int64_t>(entries.size())) {
    vocab.fail("has ", entries.size(), " tokens but an id of ", largest);
  }
  made.bytes_.reserve(bytes);
  made.places_.resize(static_cast<std::size_t>(largest + 1));
  for (const auto& [token, id] : entries) {
    if (made.has(id))
      vocab.fail(io::quoted(made.token(id)), " and ", io::quoted(token), " both have the id ", id);
    made.store(token, static_cast<std::size_t>(id));
  }
  std::sort(entries.begin(), entries.end());
  made.trie_ = Trie(std::move(entries));
  return made;
}

Vocabulary Vocabulary::from_list(const std::vector<std::string_view>& tokens, std::int64_t& duplicate) {
  Vocabulary made;
  made.places_.resize(tokens.size());
  Entries entries;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    made.store(tokens[id], id);
    entries.emplace_back(tokens[id], static_cast<std::int32_t>(id));
  }
  std::sort(entries.begin(), entries.end());
  duplicate = -1;
  const auto twice = std::adjacent_find(entries.begin(), entries.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != entries.end()) {
    duplicate = std::next(twice)->second;
  } else {
    made.trie_ = Trie(std::move(entries));
  }
  return made;
}

}  // namespace attend::text
