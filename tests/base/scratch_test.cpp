#include "base/scratch.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>

namespace attend {
namespace {

TEST(Scratch, IsAlignedAndKeptForTheNextCall) {
  void* first = nullptr;
  {
    const Scratch scratch(100000);
    first = scratch.as<void>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
    std::memset(first, 1, 100000);
  }
  const Scratch again(50000);
  EXPECT_EQ(again.as<void>(), first);
}

TEST(Scratch, ACallInsideACallHasItsOwn) {
  const Scratch outer(1000);
  {
    const Scratch inner(2000);
    EXPECT_NE(inner.as<void>(), outer.as<void>());
    std::memset(inner.as<void>(), 1, 2000);
  }
  std::memset(outer.as<void>(), 2, 1000);
}

TEST(Scratch, CallsInsideACallFindTheirPiecesAgain) {
  std::thread([] {  // one that keeps nothing yet
    const auto pieces = [] {
      const Scratch outer(5 << 20), inner(3 << 20), innermost(1 << 20);
      return std::array{outer.as<void>(), inner.as<void>(), innermost.as<void>()};
    };
    const auto first = pieces();
    EXPECT_EQ(pieces(), first);
    const Scratch small(1000);  // takes the smallest that will do
    EXPECT_EQ(small.as<void>(), first[2]);
  })
      .join();
}

TEST(Scratch, TheLargerPieceIsKeptWhereBothAreTooMuch) {
  std::thread([] {
    void* large = nullptr;
    {
      const Scratch one(std::size_t{100} << 20), two(std::size_t{90} << 20);
      large = one.as<void>();
    }
    const Scratch again(std::size_t{100} << 20);
    EXPECT_EQ(again.as<void>(), large);
  }).join();
}

TEST(Scratch, NothingIsAPiece) {
  const Scratch none(0);
  const Scratch some(1);
  *some.as<char>() = 1;
}

TEST(Scratch, ThreadsDoNotShare) {
  const Scratch mine(1000);
  std::thread([&] {
    const Scratch theirs(1000);
    EXPECT_NE(theirs.as<void>(), mine.as<void>());
  }).join();
}

}  // namespace
}  // namespace attend
