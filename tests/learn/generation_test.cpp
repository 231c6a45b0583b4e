#include <attend/generation.h>

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/random.h"
#include "learn/model_folder.h"
#include "learn/task.h"
#include "support/compare.h"
#include "support/file_error.h"
#include "support/refuses.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

model::OwnModel small() {
  return {.vocabulary = 256, .length = 12, .layers = 2, .hidden = 16, .heads = 2, .inner = 24};
}

class GenerationTest : public testing::Test {
 protected:
  GenerationTest() : model(model::describe(small()), {}) {
    model.parameters().initialise(3);
    save_model_folder(folder.path(), model, byte_tokenizer());
    for (std::int32_t i = 0; i < 12; ++i) ids.push_back(static_cast<std::int32_t>(random_bits(1, i) % 256));
  }
  // The logits after the first `count` tokens, by the model that learns.
  Tensor expected(std::int64_t count) {
    train::Batch batch{.tokens = {.count = 1, .length = count, .ids = {ids.begin(), ids.begin() + count}}};
    batch.targets.assign(static_cast<std::size_t>(count), kNoTarget);
    const Tensor logits = model.logits(batch, count - 1);
    return copy_of(logits.view().select(0, 0));
  }
  Generator generator() { return Generator(TextModel::load(folder.path().string())); }

  TemporaryFolder folder;
  train::Model model;
  std::vector<std::int32_t> ids;
};

std::vector<std::int32_t> ids_of(const Generated& generated) {
  std::vector<std::int32_t> ids;
  for (const GeneratedToken& token : generated.tokens) ids.push_back(token.id);
  return ids;
}

TEST_F(GenerationTest, SaysWhatTheTrainedModelSays) {
  Generator whole = generator();
  EXPECT_LT(max_abs_difference(whole.read(ids), expected(12)), 1e-5);
  EXPECT_EQ(whole.cache().length(), 12);
  // Token by token, with the cache.
  Generator pieces = generator();
  for (std::int64_t i = 0; i < 12; ++i) {
    const Tensor logits = pieces.read(std::span(ids).subspan(static_cast<std::size_t>(i), 1));
    EXPECT_LT(max_abs_difference(logits, expected(i + 1)), 1e-5) << i;
  }
  pieces.clear();
  EXPECT_LT(max_abs_difference(pieces.read(std::span(ids).subspan(0, 5)), expected(5)), 1e-5);
}

TEST_F(GenerationTest, ContinuesWhenPositionsRunOut) {
  Generator one = generator(), other = generator();
  const auto written = [&](Generator& by, std::span<const std::int32_t> prompt, std::int64_t count,
                           const Sampling& sampling) {
    return ids_of(by.generate(prompt, {.max_tokens = count, .sampling = sampling}));
  };
  const auto start = std::span<const std::int32_t>(ids).subspan(0, 3);
  const auto first = written(one, start, 40, {.seed = 5});
  EXPECT_EQ(first.size(), 40u);
  EXPECT_EQ(written(other, start, 40, {.seed = 5}), first);
  EXPECT_NE(written(other, start, 40, {.seed = 6}), first);
  // A prompt that is longer than the positions is cut at its start.
  std::vector<std::int32_t> twice = ids;
  twice.insert(twice.end(), ids.begin(), ids.end());
  EXPECT_EQ(written(other, twice, 3, {.temperature = 0}), written(other, ids, 3, {.temperature = 0}));
}

TEST_F(GenerationTest, StopsWhereItIsTold) {
  Generator one = generator();
  const GenerateOptions usual{.max_tokens = 20, .sampling = {.temperature = 0}};
  const Generated all = one.generate(ids, usual);
  EXPECT_EQ(all.reason, StopReason::length);
  ASSERT_EQ(all.tokens.size(), 20u);
  const std::int32_t later = all.tokens[7].id;
  const auto first = std::find_if(all.tokens.begin(), all.tokens.end(),
                                  [&](const GeneratedToken& token) { return token.id == later; });
  const auto before = static_cast<std::size_t>(first - all.tokens.begin());

  GenerateOptions stopping = usual;
  stopping.stop_tokens = {later};
  const Generated stopped = one.generate(ids, stopping);
  EXPECT_EQ(stopped.reason, StopReason::stop);
  EXPECT_EQ(stopped.tokens.size(), before);

  GenerateOptions until = usual;
  until.stop = {"", all.text.substr(all.text.size() / 2, 3)};
  const Generated cut = one.generate(ids, until);
  EXPECT_EQ(cut.reason, StopReason::stop);
  EXPECT_EQ(cut.text, all.text.substr(0, all.text.find(until.stop[1])));

  std::vector<std::int32_t> seen;
  GenerateOptions watched = usual;
  watched.on_token = [&](const GeneratedToken& token) {
    seen.push_back(token.id);
    return seen.size() < 3;
  };
  const Generated ended = one.generate(ids, watched);
  EXPECT_EQ(ended.reason, StopReason::callback);
  EXPECT_EQ(seen, ids_of(ended));
  EXPECT_EQ(seen.size(), 3u);
}

// The log-probabilities of what is written are those of the model, whatever temperature drew it.
TEST_F(GenerationTest, SaysHowProbableATokenWas) {
  Generator one = generator(), other = generator();
  const Generated found = one.generate(
      std::span<const std::int32_t>(ids).subspan(0, 3),
      {.max_tokens = 5, .sampling = {.temperature = 2, .top_k = 0, .seed = 3}, .log_probabilities = true});
  std::vector<std::int32_t> next(ids.begin(), ids.begin() + 3);
  for (const GeneratedToken& token : found.tokens) {
    const Tensor logits = other.read(next);
    double sum = 0;
    for (const float value : logits.values<float>()) sum += std::exp(static_cast<double>(value));
    const auto own = static_cast<double>(logits.values<float>()[static_cast<std::size_t>(token.id)]);
    EXPECT_NEAR(token.log_probability, own - std::log(sum), 1e-9);
    next = {token.id};
  }
  EXPECT_TRUE(std::isnan(one.generate(ids, {.max_tokens = 1}).tokens[0].log_probability));
}

TEST_F(GenerationTest, Refuses) {
  Generator full = generator();
  full.read(ids);
  EXPECT_REFUSES(full.read(std::span(ids).subspan(0, 1)),
                 "[generate] 13 tokens are more than the 12 positions of the model");
  EXPECT_REFUSES(full.read({}), "[generate] there are no tokens to read");
  EXPECT_REFUSES(full.read_source(ids), "[generate] the model has no encoder to read a source");
  EXPECT_REFUSES(full.generate(""), "[generate] the prompt is empty");
  EXPECT_REFUSES(full.generate(ids, {.max_tokens = -1}), "[generate] max_tokens is -1");
  EXPECT_REFUSES(full.generate(ids, {.sampling = {.temperature = -1}}), "[generate] temperature is -1");
  EXPECT_REFUSES(full.generate(ids, {.sampling = {.top_k = -1}}), "[generate] top_k is -1");
  const std::vector<std::int32_t> outside{256};
  Generator empty = generator();
  EXPECT_REFUSES(empty.read(outside), "id 256 of token 0 is outside the vocabulary of 256");
}

struct NamedShape {
  std::string name;
  model::OwnModel shape;
};

// Every decoder that can be trained, with a source and without.
std::vector<NamedShape> every_shape() {
  std::vector<NamedShape> list;
  using model::FeedForwardKind;
  using model::ModelKind;
  for (const ModelKind kind : {ModelKind::decoder, ModelKind::encoder_decoder}) {
    for (int positions = 0; positions < 5; ++positions) {
      for (int norms = 0; norms < 4; ++norms) {
        for (int wide = 0; wide < 3; ++wide) {
          for (const bool tied : {true, false}) {
            model::OwnModel shape = small();
            shape.kind = kind;
            shape.positions = static_cast<PositionKind>(positions);
            shape.norm = static_cast<NormKind>(norms % 2);
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

void expect_same_logits(const model::OwnModel& shape) {
  ModelDescription description = model::describe(shape);
  description.start_token = description.has_source() ? std::optional(7) : std::nullopt;
  train::Model model(description, {});
  model.parameters().initialise(3);
  const TensorView values = model.parameters().values();
  for (std::int64_t i = 0; i < values.count(); ++i) {
    values.data<float>()[i] += static_cast<float>(0.1 * normal_at(4, static_cast<std::uint64_t>(i)));
  }
  const TemporaryFolder folder;
  save_model_folder(folder.path(), model, byte_tokenizer());
  Generator generator(TextModel::load(folder.path().string()));
  train::Batch batch{.tokens = {.count = 1, .length = 10}};
  for (std::uint64_t i = 0; i < 10; ++i)
    batch.tokens.ids.push_back(static_cast<std::int32_t>(random_bits(1, i) % 256));
  batch.targets.assign(10, kNoTarget);
  if (shape.kind == model::ModelKind::encoder_decoder) {
    batch.source = {.count = 1, .length = 6, .ids = {9, 8, 7, 200, 100, 0}};
    EXPECT_EQ(generator.model().transformer().description().start_token, 7);
    EXPECT_REFUSES(generator.read(batch.tokens.ids), "[generate] the source has not been read yet");
    // A previous source, and tokens of another answer, leave no trace.
    generator.read_source(std::vector<std::int32_t>{1, 2, 3});
    generator.read(batch.tokens.ids);
    generator.read_source(batch.source.ids);
  }
  // Three at once, then one after the other: through the cache.
  const std::span<const std::int32_t> ids = batch.tokens.ids;
  for (std::size_t read = 0; read < 10;) {
    const std::size_t count = read == 0 ? 3 : 1;
    const Tensor logits = generator.read(ids.subspan(read, count));
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
  model::OwnModel shape = small();
  shape.positions = PositionKind::rotary;
  shape.epsilon = 1e-7;
  const std::string good = config_json(model::describe(shape));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    write_file(file, text.replace(at, from.size(), to));
    return file;
  };
  EXPECT_EQ(config_json(read_model_description(std::filesystem::path(with("attend", "attend")))), good);
  EXPECT_FILE_ERROR(read_model_description(std::filesystem::path(with("rotary", "turned"))), "positions",
                    "\"turned\" is not one of none, sinusoidal, learned, rotary, alibi");
  EXPECT_FILE_ERROR(read_model_description(std::filesystem::path(with("\"hidden\": 16", "\"hidden\": 0"))),
                    "hidden", "0");
  EXPECT_FILE_ERROR(read_model_description(std::filesystem::path(with("\"heads\": 2", "\"heads\": 3"))),
                    "heads", "does not divide");
}

TEST(Sample, FollowsTheLogits) {
  const Tensor logits = Tensor::from<float>({4}, {0, std::log(2.0f), std::log(5.0f), -100});
  EXPECT_EQ(sample(logits, {.temperature = 0}, 0), 2);
  std::map<std::int32_t, int> counts;
  for (std::uint64_t i = 0; i < 8000; ++i)
    ++counts[sample(logits, {.temperature = 1, .top_k = 0, .seed = 3}, i)];
  // Shares 1/8, 2/8 and 5/8; four standard deviations of 8000 draws.
  EXPECT_NEAR(counts[0], 1000, 120);
  EXPECT_NEAR(counts[1], 2000, 160);
  EXPECT_NEAR(counts[2], 5000, 180);
  EXPECT_EQ(counts[3], 0);
  for (std::uint64_t i = 0; i < 200; ++i)
    EXPECT_NE(sample(logits, {.temperature = 1, .top_k = 2, .seed = 3}, i), 0);
}

}  // namespace
}  // namespace attend::learn
