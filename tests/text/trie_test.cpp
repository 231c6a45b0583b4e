#include "text/trie.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <string>

#include "support/sanitized.h"

namespace {

using attend::text::Trie;

Trie trie_of(const std::map<std::string, std::int32_t>& keys) {
  return Trie(std::vector<std::pair<std::string_view, std::int32_t>>(keys.begin(), keys.end()));
}

TEST(Trie, FindsWhatIsInItAndNothingElse) {
  std::mt19937 random(3);
  for (const unsigned letters : {2u, 26u, 256u}) {
    std::map<std::string, std::int32_t> keys;
    const auto draw = [&] {
      std::string key(random() % 9, '\0');
      for (char& byte : key) byte = static_cast<char>(random() % letters);
      return key;
    };
    for (int i = 0; i < 5000; ++i) keys.emplace(draw(), i);
    const Trie trie = trie_of(keys);
    for (const auto& [key, value] : keys) ASSERT_EQ(trie.find(key), value);
    for (int i = 0; i < 5000; ++i) {
      const std::string key = draw() + draw();
      const auto found = keys.find(key);
      ASSERT_EQ(trie.find(key), found == keys.end() ? -1 : found->second);
    }
  }
}

TEST(Trie, EmptyAndLong) {
  EXPECT_EQ(Trie().find("a"), -1);
  EXPECT_EQ(Trie().find(""), -1);
  EXPECT_EQ(trie_of({{"", 5}}).find(""), 5);
  const std::string long_key(1'000'000, 'x');
  const Trie trie = trie_of({{long_key, 1}, {"x", 2}});
  EXPECT_EQ(trie.find(long_key), 1);
  EXPECT_EQ(trie.find("x"), 2);
  EXPECT_EQ(trie.find("xx"), -1);
}

// Nodes with many children spread all over the bytes leave holes that fit nobody.
TEST(Trie, IsBuiltInLinearTime) {
  std::mt19937 random(5);
  std::map<std::string, std::int32_t> keys;
  const int count = attend::kSanitized ? 20'000 : 200'000;
  for (int i = 0; i < count; ++i) {
    std::string key(4, '\0');
    for (char& byte : key) byte = static_cast<char>(random() % 7 * 37 + random() % 2 * 111);
    key += std::to_string(i);
    keys.emplace(key, i);
  }
  const auto start = std::chrono::steady_clock::now();
  const Trie trie = trie_of(keys);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 20);
  EXPECT_EQ(trie.find(keys.begin()->first), keys.begin()->second);
}

}  // namespace
