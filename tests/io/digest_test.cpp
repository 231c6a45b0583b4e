#include "io/digest.h"

#include <gtest/gtest.h>

#include <string>

namespace attend::io {
namespace {

using namespace std::string_literals;

template <class Digest>
std::string hex_of(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.hex();
}

// The examples of the standard.
TEST(Digest, KnownValues) {
  const std::string_view two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  const std::string million(1'000'000, 'a');
  EXPECT_EQ(hex_of<Sha1>(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(hex_of<Sha1>("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex_of<Sha1>(two_blocks), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(hex_of<Sha1>(million), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  EXPECT_EQ(hex_of<Sha256>(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of<Sha256>("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of<Sha256>(two_blocks), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_of<Sha256>(million), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, BytesAreThoseOfTheHexDigits) {
  Sha256 digest;
  digest.add("abc");
  const std::string bytes = digest.bytes();
  ASSERT_EQ(bytes.size(), 32u);
  EXPECT_EQ(bytes.substr(0, 4), "\xba\x78\x16\xbf");
  EXPECT_EQ(bytes.substr(28), "\xf2\x00\x15\xad"s);
}

TEST(Digest, PiecesMakeNoDifference) {
  const std::string text(200, 'x');
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string_view whole = std::string_view(text).substr(0, size);
    const std::string expected = hex_of<Sha256>(whole);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}}) {
      Sha256 digest;
      for (std::size_t at = 0; at < size; at += piece) digest.add(whole.substr(at, piece));
      ASSERT_EQ(digest.hex(), expected) << size << " in pieces of " << piece;
    }
  }
}

}  // namespace
}  // namespace attend::io
