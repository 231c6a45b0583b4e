#include "io/crc32.h"

#include <gtest/gtest.h>

#include <string>

namespace attend::io {
namespace {

TEST(Crc32, KnownValues) {
  EXPECT_EQ(crc32(0, ""), 0u);
  EXPECT_EQ(crc32(0, "123456789"), 0xCBF43926u);  // the check value of this polynomial
  EXPECT_EQ(crc32(0, std::string(32, '\0')), 0x190A55ADu);
}

TEST(Crc32, ComesInPieces) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string first = text.substr(0, cut), second = text.substr(cut);
    EXPECT_EQ(crc32(crc32(0, first), second), crc32(0, text));
    EXPECT_EQ(crc32_joined(crc32(0, first), crc32(0, second), second.size()), crc32(0, text));
  }
}

TEST(Crc32, JoinsALongSecondPart) {
  const std::string first = "header", second(1'000'003, 'x');
  EXPECT_EQ(crc32_joined(crc32(0, first), crc32(0, second), second.size()), crc32(0, first + second));
}

}  // namespace
}  // namespace attend::io
