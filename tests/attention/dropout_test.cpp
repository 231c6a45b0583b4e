// Dropout: the weights that the generator drops, and no others, on every instruction set.
#include <attend/isa.h>
#include <attend/reference.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "support/arbitrary_case.h"
#include "support/compare.h"

namespace attend {
namespace {

// With the identity for values and one query per row of weights, the output is the weights themselves.
TEST(Dropout, DropsTheWeightsOfTheGeneratorOnEveryInstructionSet) {
  AttentionCase c;
  c.batch = 2;
  c.key_heads = 2;
  c.group = 2;
  c.queries = 70;
  c.keys = c.dv = 150;
  AttentionInputs in = make_inputs(c);
  for (std::int64_t row = 0; row < in.v_storage.count() / c.dv; ++row) {
    const auto values = in.v_storage.values<float>().subspan(static_cast<std::size_t>(row * c.dv),
                                                             static_cast<std::size_t>(c.dv));
    for (std::int64_t x = 0; x < c.dv; ++x) values[static_cast<std::size_t>(x)] = x == row % c.keys ? 1 : 0;
  }
  const std::vector<double> weights =
      values_of(reference::attention_rows(in.q, in.k, in.options, Stage::weights));
  const double p = in.options.dropout = 0.25;
  in.options.dropout_seed = 11;
  for (const std::string& isa : available_isas(Precision::bf16)) {
    set_isa(isa);
    // Weights that were rounded: those of queries and keys of 8 bits, with 8 bits.
    const bool rounded = isa == "avx512_bf16" || isa == "avx512_amx";
    in.options.precision = rounded ? Precision::bf16 : Precision::f32;
    const std::vector<double> out = values_of(attention(in.q, in.k, in.v, in.options));
    std::size_t place = 0;
    for (std::uint64_t b = 0; b < 2; ++b) {
      for (std::uint64_t h = 0; h < 4; ++h) {
        const DropoutStream stream(p, 11, b, h);
        for (std::int64_t i = 0; i < c.queries; ++i) {
          for (std::int64_t j = 0; j < c.keys; ++j, ++place) {
            const double expected = stream.keeps(i, j) ? weights[place] / (1 - p) : 0;
            ASSERT_NEAR(out[place], expected, rounded ? 0.03 * expected : 1e-6)
                << isa << " " << i << " " << j;
          }
        }
      }
    }
  }
  set_isa("");
}

TEST(Dropout, AgreesWithFloat64AndLeavesStatesAndStagesAlone) {
  EXPECT_PROPERTY("any case", [] {
    AttentionCase c = arbitrary_case();
    RC_LOG(describe(c));
    AttentionInputs in = make_inputs(c);
    RowState plain(in.q), state(in.q);
    Tensor out = in.output(DType::f32), expected = in.output(DType::f64);
    attention(in.q, in.k, in.v, in.options, out, plain);
    const Tensor weights = attention_rows(in.q, in.k, in.options, Stage::weights);
    in.options.dropout = *rc::gen::element(0.1, 0.5, 0.75);
    in.options.dropout_seed = c.seed;
    attention(in.q, in.k, in.v, in.options, out, state);
    reference::attention(in.q, in.k, in.v, in.options, expected);
    RC_ASSERT(max_abs_difference(out, expected) <= 4e-5);
    // Few queries are decoded without dropout and not with it: then the states agree, but not to the bit.
    Tensor lse(DType::f32, plain.max.shape()), dropped_lse(DType::f32, plain.max.shape());
    log_sum_exp(plain, lse);
    log_sum_exp(state, dropped_lse);
    RC_ASSERT(max_abs_difference(lse, dropped_lse) <= 2e-5);
    RC_ASSERT(c.packed || c.queries <= 8 ||
              (same_bits(plain.max, state.max) && same_bits(plain.sum, state.sum)));
    RC_ASSERT(same_bits(weights, attention_rows(in.q, in.k, in.options, Stage::weights)));
  });
}

TEST(Dropout, TheSeedDecides) {
  AttentionCase c;
  c.queries = c.keys = 40;
  c.dropout = true;
  AttentionInputs in = make_inputs(c);
  const Tensor first = attention(in.q, in.k, in.v, in.options);
  EXPECT_TRUE(same_bits(first, attention(in.q, in.k, in.v, in.options)));
  ++in.options.dropout_seed;
  EXPECT_FALSE(same_bits(first, attention(in.q, in.k, in.v, in.options)));
}

}  // namespace
}  // namespace attend
