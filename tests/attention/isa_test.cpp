// Every instruction set that this machine has: each can be forced, each is exact, and each keeps its bits.
#include <attend/isa.h>
#include <attend/reference.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "attention/grid.h"
#include "support/compare.h"
#include "support/covering_array.h"
#include "support/emulated.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend {
namespace {

bool multiplies_in_bf16(const AttentionCase& c) {
  return c.precision == Precision::bf16 || (c.dtype == DType::bf16 && !c.precision);
}

class Isa : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { set_isa(GetParam()); }
  void TearDown() override { set_isa(""); }
};

INSTANTIATE_TEST_SUITE_P(All, Isa, testing::ValuesIn(available_isas(Precision::bf16)),
                         [](const auto& set) { return set.param; });

TEST_P(Isa, TheForcedOneIsInUse) { EXPECT_EQ(isa(Precision::bf16), GetParam()); }

// The pairwise grid again, its storage and its products in 32 and in 16 bits, without the long sequences:
// those differ between instruction sets in nothing but time.
TEST_P(Isa, EveryPairOfShapesOptionsAndTypesIsExact) {
  const std::int64_t longest = kEmulated || kSanitized ? 65 : 129;
  if (kEmulated) std::cout << "up to 65 x 65 queries and keys under an emulator\n";
  std::uint64_t seed = 1;
  for (const auto& row : covering_array(grid_knob_sizes())) {
    AttentionCase c = grid_case(row);
    c.seed = 100 * seed++;
    if (c.queries * c.keys > longest * longest) continue;
    if (GetParam() != isa() && !multiplies_in_bf16(c)) continue;  // the kernels of isa(), which has its turn
    expect_exact(c);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Isa, WithinAMillionthAtUsualSizes) {
  for (const std::int64_t length : {1, 7, 48, 128, 300}) {
    AttentionCase c;
    c.queries = c.keys = length;
    c.key_heads = 2;
    c.d = c.dv = 64;
    const AttentionInputs in = make_inputs(c);
    Tensor expected = in.output(DType::f64);
    reference::attention(in.q, in.k, in.v, in.options, expected);
    EXPECT_LE(max_abs_difference(attention(in.q, in.k, in.v, in.options), expected), 1e-6) << length;
  }
}

// Instruction sets differ in what the maximum of a number and NaN is.
TEST_P(Isa, NanReachesTheRowsThatAttendToIt) {
  AttentionCase c;
  c.queries = c.keys = 40;
  c.causal = true;
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    c.precision = precision;
    for (const bool in_value : {false, true}) {
      AttentionInputs in = make_inputs(c);
      Tensor& holder = in_value ? in.v_storage : in.k_storage;
      for (float& x : holder.values<float>().subspan(static_cast<std::size_t>(17 * c.d), 8)) x = NAN;
      const std::vector<double> out = values_of(attention(in.q, in.k, in.v, in.options));
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(std::isnan(out[i]), i >= 17 * 8) << in_value << i;
    }
  }
}

TEST_P(Isa, SameBitsWithAnyNumberOfThreads) {
  AttentionCase c;
  c.batch = 2;
  c.key_heads = 3;
  c.queries = c.keys = 257;
  c.causal = true;
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    c.precision = precision;
    const AttentionInputs in = make_inputs(c);
    set_threads(1);
    const Tensor alone = attention(in.q, in.k, in.v, in.options);
    for (const int count : {2, 3, 8}) {
      set_threads(count);
      EXPECT_TRUE(same_bits(attention(in.q, in.k, in.v, in.options), alone)) << count;
    }
    set_threads(0);
  }
}

// Beyond half a mebibyte of keys and values several tiles of queries take turns at them: nothing that fewer
// queries alone do not get.
TEST_P(Isa, TilesInTurnsHaveTheBitsOfOneAlone) {
  AttentionCase c;
  c.queries = 800;
  c.keys = 1100;
  c.d = c.dv = 64;
  c.key_heads = 2;
  c.causal = true;
  c.offset = CaseOffset::bottom_right;
  c.window_left = 70;
  const AttentionInputs in = make_inputs(c);
  set_threads(1);
  const Tensor whole = attention(in.q, in.k, in.v, in.options);
  for (std::int64_t first = 0; first < c.queries; first += 200) {  // too few to take turns
    AttentionOptions options = in.options;
    options.query_offset = c.keys - c.queries + first;
    EXPECT_TRUE(same_bits(attention(in.q.slice(2, first, first + 200), in.k, in.v, options),
                          whole.view().slice(2, first, first + 200)))
        << first;
  }
  set_threads(8);
  EXPECT_TRUE(same_bits(attention(in.q, in.k, in.v, in.options), whole));
  set_threads(0);
}

TEST(IsaChoice, TheEnvironmentForcesOne) {
  const std::string last = available_isas().back();
  setenv("ATTEND_ISA", last.c_str(), 1);
  set_isa("");
  EXPECT_EQ(isa(), last);
  setenv("ATTEND_ISA", "mmx", 1);
  EXPECT_REFUSES(set_isa(""), "[set_isa] there is no instruction set \"mmx\" here; there are ");
  unsetenv("ATTEND_ISA");
  set_isa("");
  EXPECT_EQ(isa(), available_isas().front());
  std::cout << "tested:";
  for (const std::string& name : available_isas()) std::cout << " " << name;
  std::cout << "\n";
}

}  // namespace
}  // namespace attend
