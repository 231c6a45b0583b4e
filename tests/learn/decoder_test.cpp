#include "learn/decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "learn/model_folder.h"
#include "learn/task.h"
#include "support/compare.h"
#include "support/file_error.h"
#include "support/refuses.h"
#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

train::ModelShape small() {
  return {.vocabulary = 256, .length = 12, .layers = 2, .hidden = 16, .heads = 2, .inner = 24};
}

class DecoderTest : public testing::Test {
 protected:
  DecoderTest() : model(small(), {.sequences = 1}) {
    model.parameters().initialise(3);
    save_model_folder(folder.path(), model, byte_tokenizer());
    for (std::int32_t i = 0; i < 12; ++i) ids.push_back(static_cast<std::int32_t>(random_bits(1, i) % 256));
  }
  // Of the token at the end of the first `count`, by the model that learns.
  Tensor expected(std::int64_t count) {
    train::Batch batch{.tokens = {.count = 1, .length = count, .ids = {ids.begin(), ids.begin() + count}}};
    batch.targets.assign(static_cast<std::size_t>(count), kNoTarget);
    const Tensor logits = model.logits(batch, count - 1);
    return copy_of(logits.view().select(0, 0));
  }
  Decoder decoder() { return Decoder(find_model(folder.path().string())); }

  TemporaryFolder folder;
  train::Model model;
  std::vector<std::int32_t> ids;
};

TEST_F(DecoderTest, SaysWhatTheTrainedModelSays) {
  Decoder whole = decoder();
  EXPECT_LT(max_abs_difference(whole.read(ids), expected(12)), 1e-5);
  EXPECT_EQ(whole.length(), 12);
  // Token by token, over the cache.
  Decoder pieces = decoder();
  for (std::int64_t i = 0; i < 12; ++i) {
    const Tensor logits = pieces.read(std::span(ids).subspan(static_cast<std::size_t>(i), 1));
    EXPECT_LT(max_abs_difference(logits, expected(i + 1)), 1e-5) << i;
  }
  pieces.forget();
  EXPECT_LT(max_abs_difference(pieces.read(std::span(ids).subspan(0, 5)), expected(5)), 1e-5);
}

TEST_F(DecoderTest, GoesOnWherePositionsRunOut) {
  Decoder one = decoder(), other = decoder();
  const auto first = generate(one, std::span(ids).subspan(0, 3), 40, {.seed = 5});
  EXPECT_EQ(first.size(), 40u);
  EXPECT_EQ(generate(other, std::span(ids).subspan(0, 3), 40, {.seed = 5}), first);
  EXPECT_NE(generate(other, std::span(ids).subspan(0, 3), 40, {.seed = 6}), first);
  // A prompt that is longer than the positions is cut in front.
  std::vector<std::int32_t> twice = ids;
  twice.insert(twice.end(), ids.begin(), ids.end());
  EXPECT_EQ(generate(other, twice, 3, {.temperature = 0}), generate(other, ids, 3, {.temperature = 0}));
}

TEST_F(DecoderTest, Refuses) {
  Decoder full = decoder();
  full.read(ids);
  EXPECT_REFUSES(full.read(std::span(ids).subspan(0, 1)),
                 "[generate] 13 tokens are more than the 12 positions of the model");
  EXPECT_REFUSES(full.read({}), "[generate] there is no token to go on from");
  const std::vector<std::int32_t> outside{256};
  Decoder empty = decoder();
  EXPECT_REFUSES(empty.read(outside), "id 256 at place 0 is outside the table of 256");
}

TEST(Sample, FollowsTheLogits) {
  const Tensor logits = Tensor::from<float>({4}, {0, std::log(2.0f), std::log(5.0f), -100});
  EXPECT_EQ(sample(logits, {.temperature = 0}, 0), 2);
  std::map<std::int32_t, int> counts;
  for (std::uint64_t i = 0; i < 8000; ++i)
    ++counts[sample(logits, {.temperature = 1, .top = 0, .seed = 3}, i)];
  // Shares 1/8, 2/8 and 5/8; four standard deviations of 8000 draws.
  EXPECT_NEAR(counts[0], 1000, 120);
  EXPECT_NEAR(counts[1], 2000, 160);
  EXPECT_NEAR(counts[2], 5000, 180);
  EXPECT_EQ(counts[3], 0);
  for (std::uint64_t i = 0; i < 200; ++i)
    EXPECT_NE(sample(logits, {.temperature = 1, .top = 2, .seed = 3}, i), 0);
}

}  // namespace
}  // namespace attend::learn
