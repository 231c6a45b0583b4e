#include "bench/cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace attend::bench {
namespace {

TEST(BenchCases, FlopsFollowTheConvention) {
  const Shape shape = {2, 8, 2, 16, 32, 64};
  EXPECT_EQ(attention_flops(shape, Direction::forward, false), 4.0 * 2 * 8 * 16 * 32 * 64);
  EXPECT_EQ(attention_flops(shape, Direction::forward, true), 2.0 * 2 * 8 * 16 * 32 * 64);
  EXPECT_EQ(attention_flops(shape, Direction::backward, false), 10.0 * 2 * 8 * 16 * 32 * 64);
  // Larger than any integer of 32 bits, and of 53 in between.
  EXPECT_EQ(attention_flops({1, 1, 1, 1 << 20, 1 << 20, 512}, Direction::forward, false), 0x1p51);
}

TEST(BenchCases, NamesSayWhatDiffers) {
  EXPECT_EQ(to_string(Shape{1, 12, 12, 512, 512, 64}), "1,12,512,64");
  EXPECT_EQ(to_string(Shape{1, 32, 8, 1, 4096, 128}), "1,32/8,1/4096,128");
  EXPECT_EQ(to_string(AttentionCase{{1, 1, 1, 2, 2, 3}, DType::bf16, Direction::backward, true}),
            "bwd causal 1,1,2,3 bf16");
}

TEST(BenchCases, NamesAreOneOfAKind) {
  for (const bool quick : {false, true}) {
    std::set<std::string> names;
    for (const AttentionCase& one : attention_cases(quick)) names.insert(to_string(one));
    EXPECT_EQ(names.size(), attention_cases(quick).size());
  }
}

TEST(BenchCases, QuickOnesAreAmongTheOthers) {
  std::set<std::string> names;
  for (const AttentionCase& one : attention_cases(false)) names.insert(to_string(one));
  for (const AttentionCase& one : attention_cases(true)) EXPECT_TRUE(names.contains(to_string(one)));
}

// The shapes for which other engines publish figures.
TEST(BenchCases, TheSevenShapesAreThere) {
  std::set<std::string> names;
  for (const AttentionCase& one : attention_cases(false)) names.insert(to_string(one));
  for (const char* const shape : {"1,12,128,64", "8,12,128,64", "1,12,512,64", "1,8,2048,64", "1,8,4096,64",
                                  "1,8,4096,128", "1,4,16384,64", "1,12,128,32"}) {
    for (const char* const kind : {"fwd full ", "fwd causal ", "bwd full ", "bwd causal "}) {
      EXPECT_TRUE(names.contains(std::string(kind) + shape)) << kind << shape;
    }
  }
}

TEST(BenchCases, ProductsAreThoseOfSmallEncoders) {
  EXPECT_EQ(to_string(ProductCase{{512, 384, 1536}}), "512 x 384 x 1536");
  std::set<std::string> names;
  for (const ProductCase& one : product_cases(false)) names.insert(to_string(one));
  EXPECT_EQ(names.size(), product_cases(false).size());
  for (const char* const name :
       {"512 x 384 x 384", "512 x 1536 x 1536", "512 x 384 x 1536", "1 x 384 x 384"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(BenchCases, CachesAreFarLargerThanTheProcessors) {
  std::set<std::string> names;
  for (const DecodeCase& one : decode_cases(false)) {
    EXPECT_GE(cache_bytes(one), 256e6) << to_string(one);
    EXPECT_EQ(one.shape.hq % one.shape.hkv, 0) << to_string(one);
    EXPECT_TRUE(names.insert(to_string(one)).second);
  }
  for (const DecodeCase& one : decode_cases(true)) EXPECT_GE(cache_bytes(one), 64e6) << to_string(one);
  EXPECT_EQ(cache_bytes({{2, 8, 4, 1, 100, 32}, DType::bf16}), 2.0 * 2 * 4 * 100 * 32 * 2);
}

// compare_with_full() relies on it.
TEST(BenchCases, CausalFollowsFull) {
  for (const bool quick : {false, true}) {
    const std::vector<AttentionCase> cases = attention_cases(quick);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!cases[i].causal) continue;
      ASSERT_GT(i, 0u);
      AttentionCase full = cases[i];
      full.causal = false;
      EXPECT_EQ(to_string(cases[i - 1]), to_string(full));
    }
  }
}

}  // namespace
}  // namespace attend::bench
