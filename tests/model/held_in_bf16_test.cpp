// What layers hold in bf16 between their products, where nobody looks, has the bits of what is rounded when
// it is read.
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/layer.h"
#include "model/random_checkpoint.h"
#include "support/compare.h"
#include "support/each_isa.h"

namespace attend {
namespace {

class HeldInBf16 : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, HeldInBf16, testing::ValuesIn(available_isas(Precision::bf16)), isa_name);

TokenBatch texts_of(std::initializer_list<std::int64_t> lengths) {
  TokenBatch batch;
  for (const std::int64_t length : lengths) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < length; ++i) ids.push_back(static_cast<std::int32_t>((i * 7 + length) % 50));
    batch.add(ids);
  }
  return batch;
}

// An observer sees f32 throughout: with one, nothing is held in bf16.
TEST_P(HeldInBf16, GivesTheBitsOfAPassThatIsObserved) {
  for (const std::string& name : names_of_models()) {
    const ModelDescription description = description_named(name);
    const RandomCheckpoint checkpoint(description);
    for (const Precision precision : {Precision::bf16, Precision::int8}) {
      const Transformer model(description, checkpoint.source(), {.precision = precision});
      // 16 and 64 rows are whole tiles; texts of up to 8 tokens are not multiplied in bf16.
      for (const TokenBatch& batch :
           {texts_of({64}), texts_of({40, 9, 33}), texts_of({16, 5, 20}), texts_of({3}), texts_of({0, 12})}) {
        const Tensor observed = model.forward(batch, [](const LayerMoment& moment) {
          EXPECT_EQ(moment.hidden.dtype(), DType::f32);
          if (moment.layer > 0) {
            EXPECT_EQ(moment.attended.dtype(), DType::f32);
          }
        });
        EXPECT_TRUE(same_bits(model.forward(batch), observed))
            << name << ' ' << name_of(precision) << ' ' << batch.tokens() << " tokens";
      }
    }
  }
}

// So that the test above compares something.
TEST_P(HeldInBf16, IsUsedWhereTheProcessorRounds) {
  const bool rounds = isa(Precision::bf16) == "avx512_bf16" || isa(Precision::bf16) == "avx512_amx";
  const ModelDescription description = description_named("bert");
  const LayerDescription& layer = description.layers[0];
  const Tensor w(DType::f32, {48, 48}), rows(DType::f32, {30, 4, 12});
  const AttentionOptions options{.precision = Precision::bf16,
                                 .cumulative_query_lengths = {0, 9, 30},
                                 .cumulative_key_lengths = {0, 9, 30}};
  AttentionOptions shorter = options;
  shorter.cumulative_query_lengths = shorter.cumulative_key_lengths = {0, 8, 30};
  for (const PackedAs as : {PackedAs::f32, PackedAs::bf16, PackedAs::int8}) {
    const PackedMatrix matrix(w, as);
    EXPECT_EQ(matrix.rounds_rows(), rounds && as == PackedAs::bf16);
    model::LayerWeights weights;
    weights.out.matrix = weights.down.matrix = model::Operand(matrix);
    Tensor q = copy_of(rows);
    const model::HeadViews heads{.q = q, .k = q, .v = q};
    const model::HeldInBf16 held = held_in_bf16(layer, weights, options, heads);
    EXPECT_EQ(held.projected, rounds);
    EXPECT_EQ(held.attended, rounds && as == PackedAs::bf16);
    EXPECT_EQ(held.inner, rounds && as == PackedAs::bf16);
    const model::HeldInBf16 beside_a_short_one = held_in_bf16(layer, weights, shorter, heads);
    EXPECT_FALSE(beside_a_short_one.projected);
    EXPECT_EQ(beside_a_short_one.inner, held.inner);
    EXPECT_FALSE(held_in_bf16(layer, weights, {}, heads).projected);
  }
}

}  // namespace
}  // namespace attend
