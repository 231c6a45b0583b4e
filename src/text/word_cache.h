// The tokens of words seen before: a table of fixed size for each thread, shared by all tokenizers that run
// on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "text/subword_model.h"

namespace attend::text {

class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 40;
  static constexpr std::size_t kMostTokens = 12;

  // Appends the tokens of the word: those found here, or those that `work_out` appends, which are then kept.
  // A word overwrites the one that was in its place, so memory stays what it is: 8192 places of 120 bytes.
  template <class WorkOut>
  static void tokenize(std::uint32_t owner, std::string_view word, std::vector<Token>& tokens,
                       WorkOut&& work_out) {
    if (word.size() > kLongestWord) {
      work_out();
      return;
    }
    thread_local std::vector<Entry> entries(kEntries);
    Entry& entry = entries[hash(owner, word) % kEntries];
    if (entry.owner == owner && entry.size == word.size() &&
        std::memcmp(entry.word, word.data(), word.size()) == 0) {
      for (std::size_t i = 0; i < entry.count; ++i)
        tokens.push_back({entry.ids[i], entry.begin[i], entry.end[i]});
      return;
    }
    const std::size_t before = tokens.size();
    work_out();
    const std::size_t count = tokens.size() - before;
    if (count > kMostTokens) return;
    entry.owner = owner;
    entry.size = static_cast<std::uint8_t>(word.size());
    entry.count = static_cast<std::uint8_t>(count);
    std::memcpy(entry.word, word.data(), word.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Token& token = tokens[before + i];
      entry.ids[i] = token.id;
      entry.begin[i] = static_cast<std::uint8_t>(token.begin);
      entry.end[i] = static_cast<std::uint8_t>(token.end);
    }
  }

  // A number for a model that no other has, not even one at the same address later.
  static std::uint32_t new_owner() {
    static std::atomic<std::uint32_t> last{0};
    return ++last;
  }

 private:
  static constexpr std::size_t kEntries = 8192;
  struct Entry {
    std::uint32_t owner = 0;
    std::uint8_t size = 0, count = 0;
    std::uint8_t begin[kMostTokens], end[kMostTokens];
    char word[kLongestWord];
    std::int32_t ids[kMostTokens];
  };

  static std::size_t hash(std::uint32_t owner, std::string_view word) {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
    std::uint64_t h = owner + word.size() * kFactor;
    const auto mix = [&](std::uint64_t bits) {
      h = (h ^ bits) * kFactor;
      h ^= h >> 32;
    };
    std::uint64_t bits = 0;
    std::size_t i = 0;
    for (; i + 8 <= word.size(); i += 8) {
      std::memcpy(&bits, word.data() + i, 8);
      mix(bits);
    }
    bits = 0;
    std::memcpy(&bits, word.data() + i, word.size() - i);
    mix(bits);
    return static_cast<std::size_t>(h);
  }
};

}  // namespace attend::text
