#include "learn/decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/random.h"
#include "learn/model_folder.h"
#include "learn/stored_model.h"
#include "learn/task.h"
#include "learn/writing.h"
#include "support/compare.h"
#include "support/file_error.h"
#include "support/refuses.h"
#include "support/sanitized.h"
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

struct NamedShape {
  std::string name;
  train::ModelShape shape;
};

// Every decoder that can be trained, with a source and without.
std::vector<NamedShape> every_shape() {
  std::vector<NamedShape> list;
  using train::FeedForwardKind;
  using train::ModelKind;
  for (const ModelKind kind : {ModelKind::decoder, ModelKind::encoder_decoder}) {
    for (int positions = 0; positions < 5; ++positions) {
      for (int norms = 0; norms < 4; ++norms) {
        for (int wide = 0; wide < 3; ++wide) {
          for (const bool tied : {true, false}) {
            train::ModelShape shape = small();
            shape.kind = kind;
            shape.positions = static_cast<train::PositionKind>(positions);
            shape.norm = static_cast<train::NormKind>(norms % 2);
            shape.norm_first = norms < 2;
            shape.feed_forward = static_cast<FeedForwardKind>(wide);
            shape.tied = tied;
            shape.scaled = (positions + norms + wide) % 2 == 0;
            list.push_back({joined(kind == ModelKind::decoder ? "decoder" : "both", "_", positions, norms,
                                   wide, tied ? "_tied" : "_untied"),
                            shape});
          }
        }
      }
    }
  }
  return list;
}

void expect_same_logits(const train::ModelShape& shape) {
  train::Model model(shape, {.sequences = 1});
  model.parameters().initialise(3);
  const TensorView values = model.parameters().values();
  for (std::int64_t i = 0; i < values.count(); ++i) {
    values.data<float>()[i] += static_cast<float>(0.1 * normal_at(4, static_cast<std::uint64_t>(i)));
  }
  const TemporaryFolder folder;
  save_model_folder(folder.path(), model, byte_tokenizer(), 7);
  Decoder decoder(find_model(folder.path().string()));
  train::Batch batch{.tokens = {.count = 1, .length = 10}};
  for (std::uint64_t i = 0; i < 10; ++i)
    batch.tokens.ids.push_back(static_cast<std::int32_t>(random_bits(1, i) % 256));
  batch.targets.assign(10, kNoTarget);
  if (shape.kind == train::ModelKind::encoder_decoder) {
    batch.source = {.count = 1, .length = 6, .ids = {9, 8, 7, 200, 100, 0}};
    EXPECT_EQ(decoder.start(), 7);
    EXPECT_REFUSES(decoder.read(batch.tokens.ids), "[generate] there is no source yet to answer");
    // Another source before, and tokens of another answer, leave no trace.
    decoder.read_source(std::vector<std::int32_t>{1, 2, 3});
    decoder.read(batch.tokens.ids);
    decoder.read_source(batch.source.ids);
  }
  // Three at once, then one after the other: through the cache.
  const std::span<const std::int32_t> ids = batch.tokens.ids;
  for (std::size_t read = 0; read < 10;) {
    const std::size_t count = read == 0 ? 3 : 1;
    const Tensor logits = decoder.read(ids.subspan(read, count));
    read += count;
    const Tensor expected = model.logits(batch, static_cast<std::int64_t>(read) - 1);
    EXPECT_LT(max_abs_difference(logits, expected.view().select(0, 0)), 2e-5) << read;
  }
}

TEST(EveryDecoder, SaysWhatTheTrainedModelSays) {
  const std::vector<NamedShape> all = every_shape();
  for (std::size_t i = 0; i < all.size(); i += kSanitized ? 11 : 1) {
    SCOPED_TRACE(all[i].name);
    expect_same_logits(all[i].shape);
  }
}

TEST(StoredShape, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "config.json").string();
  train::ModelShape shape = small();
  shape.positions = train::PositionKind::rotary;
  shape.epsilon = 1e-7;
  const std::string good = config_json(shape);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    write_file(file, text.replace(at, from.size(), to));
    return file;
  };
  EXPECT_EQ(config_json(shape_of(read_model_config(with("attend", "attend")))), good);
  EXPECT_FILE_ERROR(read_model_config(with("rotary", "turned")), "positions",
                    "\"turned\" is not one of none, sinusoidal, learned, rotary, alibi");
  EXPECT_FILE_ERROR(read_model_config(with("\"hidden\": 16", "\"hidden\": 0")), "hidden", "0");
  EXPECT_FILE_ERROR(read_model_config(with("\"heads\": 2", "\"heads\": 3")), "heads", "does not divide");
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
