// Texts that are written together: each as it is written alone.
#include <attend/generator_batch.h>
#include <attend/interrupt.h>
#include <attend/isa.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "model/golden_decoders.h"
#include "model/letters_tokenizer.h"
#include "support/refuses.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

using Ids = std::vector<std::int32_t>;

Ids some_ids(std::size_t count, std::int32_t seed) {
  Ids ids(count);
  for (std::size_t i = 0; i < count; ++i)
    ids[i] = static_cast<std::int32_t>((static_cast<std::size_t>(seed) * 31 + i * i * 7 + i * 13) % 64);
  return ids;
}

// Ids and bits of log-probabilities: of the text, and of all numbers that were behind it.
std::vector<std::uint64_t> bits_of(const Generated& written) {
  std::vector<std::uint64_t> bits;
  for (const GeneratedToken& token : written.tokens) {
    bits.push_back(static_cast<std::uint64_t>(token.id));
    bits.push_back(std::bit_cast<std::uint64_t>(token.log_probability));
  }
  return bits;
}

GenerateOptions options_with(std::int64_t max_tokens, std::uint64_t seed) {
  return {.max_tokens = max_tokens,
          .sampling = {.temperature = 1, .seed = seed},
          .ignore_end = true,
          .log_probabilities = true};
}

class GeneratorBatches : public EachGoldenDecoder {
 protected:
  // The golden model with `positions`: tables of rotary positions have any length.
  TextModel model(std::int64_t positions, const ModelOptions& options = {},
                  std::optional<std::int64_t> rotated_alike = {}) const {
    std::filesystem::copy_file(folder / "model.safetensors", copy / "model.safetensors",
                               std::filesystem::copy_options::overwrite_existing);
    nlohmann::json json = nlohmann::json::parse(std::ifstream(folder / "config.json"));
    json["max_position_embeddings"] = positions;
    if (rotated_alike) json["original_max_position_embeddings"] = *rotated_alike;
    copy.write("config.json", json.dump());
    copy.write("tokenizer.json", letters());
    return TextModel::load(copy.path().string(), options);
  }
  const TemporaryFolder copy;
};
INSTANTIATE_TEST_SUITE_P(Families, GeneratorBatches, testing::ValuesIn(kGoldenDecoders),
                         [](const testing::TestParamInfo<const char*>& name) {
                           std::string text = name.param;
                           std::replace(text.begin(), text.end(), '-', '_');
                           return text;
                         });

// Prompts of one token and of several chunks, which join and leave at different steps.
TEST_P(GeneratorBatches, WriteEachTextAsItIsWrittenAlone) {
  if (!config.is_causal()) return;
  for (const std::string& isa : available_isas()) {
    SCOPED_TRACE(isa);
    set_isa(isa);
    Generator alone(model(400));
    GeneratorBatch batch(alone, {.prompt_tokens = 64});
    const std::size_t lengths[] = {1, 72, 8, 200, 9, 73, 64, 137};
    std::map<GeneratorBatch::Id, Generated> found;
    std::vector<GeneratorBatch::Id> ids;
    for (std::size_t joined = 0; joined < std::size(lengths) || batch.size() > 0;) {
      if (joined < std::size(lengths)) {
        ids.push_back(batch.add(some_ids(lengths[joined], static_cast<std::int32_t>(joined)),
                                options_with(5 + static_cast<std::int64_t>(joined % 3) * 4, joined)));
        ++joined;
      }
      for (GeneratorBatch::Ended& ended : batch.step()) {
        ASSERT_FALSE(ended.failure);
        found[ended.id] = std::move(ended.written);
      }
    }
    for (std::size_t i = 0; i < std::size(lengths); ++i) {
      const Generated expected = alone.generate(some_ids(lengths[i], static_cast<std::int32_t>(i)),
                                                options_with(5 + static_cast<std::int64_t>(i % 3) * 4, i));
      EXPECT_EQ(bits_of(found.at(ids[i])), bits_of(expected)) << "prompt of " << lengths[i];
      EXPECT_EQ(found.at(ids[i]).text, expected.text);
      EXPECT_EQ(found.at(ids[i]).prompt_tokens, expected.prompt_tokens);
    }
  }
  set_isa("");
}

class OneGeneratorBatch : public GeneratorBatches {};
INSTANTIATE_TEST_SUITE_P(Llama, OneGeneratorBatch, testing::Values("llama"));

TEST_P(OneGeneratorBatch, GoesOnWhereNoPositionIsLeftAsAlone) {
  Generator alone(model(40));
  GeneratorBatch batch(alone);
  const Ids prompt = some_ids(30, 1);
  const auto goes_on = batch.add(prompt, options_with(30, 1));
  const auto ends = batch.add(prompt, options_with(30, 1), true);
  const auto longer = batch.add(some_ids(50, 2), options_with(6, 2));
  std::map<GeneratorBatch::Id, Generated> found;
  while (batch.size() > 0)
    for (GeneratorBatch::Ended& ended : batch.step()) found[ended.id] = std::move(ended.written);
  const Generated expected = alone.generate(prompt, options_with(30, 1));
  EXPECT_EQ(bits_of(found[goes_on]), bits_of(expected));
  EXPECT_GT(found[goes_on].rereads, 0);
  EXPECT_EQ(found[ends].reason, StopReason::context);
  EXPECT_EQ(found[ends].tokens.size(), 11U);
  EXPECT_EQ(found[longer].dropped, 10);
  EXPECT_EQ(bits_of(found[longer]), bits_of(alone.generate(some_ids(50, 2), options_with(6, 2))));
}

TEST_P(OneGeneratorBatch, KeepsTheBitsInEveryPrecisionAndCache) {
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    for (const CacheType cache : {CacheType::f32, CacheType::bf16, CacheType::int8}) {
      Generator alone(model(400, {.precision = precision}), cache);
      GeneratorBatch batch(alone, {.cache = cache, .prompt_tokens = 64});
      std::vector<GeneratorBatch::Id> ids;
      std::map<GeneratorBatch::Id, Generated> found;
      for (const std::size_t length : {3, 100, 20})
        ids.push_back(batch.add(some_ids(length, 3), options_with(8, 3)));
      while (batch.size() > 0)
        for (GeneratorBatch::Ended& ended : batch.step()) found[ended.id] = std::move(ended.written);
      std::size_t i = 0;
      for (const std::size_t length : {3, 100, 20})
        EXPECT_EQ(bits_of(found[ids[i++]]), bits_of(alone.generate(some_ids(length, 3), options_with(8, 3))))
            << name_of(precision) << " " << name_of(cache) << " " << length;
    }
  }
}

TEST_P(OneGeneratorBatch, LosesATextAndTheOthersAreTheSame) {
  Generator alone(model(400));
  GeneratorBatch batch(alone);
  const auto kept = batch.add(some_ids(5, 1), options_with(12, 1));
  const auto removed = batch.add(some_ids(90, 2), options_with(12, 2));
  GenerateOptions failing = options_with(12, 3);
  failing.on_token = [count = 0](const GeneratedToken&) mutable -> bool {
    if (++count == 4) throw std::runtime_error("no more of this");
    return true;
  };
  const auto failed = batch.add(some_ids(7, 3), failing);
  std::map<GeneratorBatch::Id, GeneratorBatch::Ended> found;
  for (int step = 0; batch.size() > 0; ++step) {
    if (step == 5) batch.remove(removed);
    for (GeneratorBatch::Ended& ended : batch.step()) found[ended.id] = std::move(ended);
  }
  batch.remove(removed);  // which is no fault
  EXPECT_EQ(found.size(), 2U);
  EXPECT_THROW(std::rethrow_exception(found.at(failed).failure), std::runtime_error);
  EXPECT_EQ(bits_of(found.at(kept).written), bits_of(alone.generate(some_ids(5, 1), options_with(12, 1))));
  EXPECT_EQ(batch.tokens(), 0);
}

TEST_P(OneGeneratorBatch, GoesOnAfterAnInterruption) {
  Generator alone(model(400));
  GeneratorBatch batch(alone);
  int interrupted = 0;
  GenerateOptions options = options_with(1'000'000, 1);
  options.on_token = [&](const GeneratedToken&) { return interrupted < 3; };  // as long as it takes
  const auto one = batch.add(some_ids(5, 1), options);
  const auto other = batch.add(some_ids(90, 2), options);
  std::map<GeneratorBatch::Id, Generated> found;
  while (batch.size() > 0) {
    try {
      const Interruptible now([&] {
        if (++interrupted <= 3) throw std::runtime_error("not now");
      });
      while (batch.size() > 0)
        for (GeneratorBatch::Ended& ended : batch.step()) found[ended.id] = std::move(ended.written);
    } catch (const std::runtime_error&) {
    }
  }
  for (const auto& [id, prompt] : {std::pair{one, some_ids(5, 1)}, {other, some_ids(90, 2)}}) {
    const std::int64_t tokens = std::ssize(found[id].tokens);
    EXPECT_GT(tokens, 0);
    EXPECT_EQ(bits_of(found[id]), bits_of(alone.generate(prompt, options_with(tokens, 1))));
  }
}

TEST_P(OneGeneratorBatch, ReadsShortPromptsBesideALongOne) {
  Generator alone(model(2000));
  GeneratorBatch batch(alone, {.prompt_tokens = 64});
  const auto long_one = batch.add(some_ids(1500, 1), options_with(1, 1));
  batch.step();
  const auto short_one = batch.add(some_ids(20, 2), options_with(1, 2));
  std::vector<GeneratorBatch::Id> order;
  while (batch.size() > 0)
    for (const GeneratorBatch::Ended& ended : batch.step()) order.push_back(ended.id);
  EXPECT_EQ(order, (std::vector{short_one, long_one}));
}

// A conversation: each prompt begins with the one before it.
TEST_P(GeneratorBatches, KeepPromptsAndNotABitChanges) {
  if (!config.is_causal()) return;
  Generator alone(model(800));
  GeneratorBatch batch(alone, {.prompt_tokens = 128, .kept_tokens = 700});
  Ids prompt = some_ids(150, 1);
  std::vector<std::int64_t> reused;
  for (const std::size_t more : {50, 3, 140, 300, 0}) {
    batch.add(prompt, options_with(6, 1));
    while (batch.size() > 0) {
      for (const GeneratorBatch::Ended& ended : batch.step()) {
        reused.push_back(ended.written.reused);
        EXPECT_EQ(bits_of(ended.written), bits_of(alone.generate(prompt, options_with(6, 1))));
      }
    }
    const Ids rest = some_ids(more, 2);
    prompt.insert(prompt.end(), rest.begin(), rest.end());
  }
  if (alone.model().transformer().description().rotation_changes(64, 150)) return;  // all is read again
  EXPECT_EQ(reused, (std::vector<std::int64_t>{0, 128, 192, 192, 320}));
  // The 643 tokens kept last give way to others.
  batch.add(some_ids(200, 9), options_with(1, 1));
  while (batch.size() > 0) batch.step();
  batch.add(prompt, options_with(1, 1));
  while (batch.size() > 0) {
    for (const GeneratorBatch::Ended& ended : batch.step()) EXPECT_LT(ended.written.reused, 128);
  }
}

// Texts of up to 128 tokens are rotated in one way, longer ones in another: what was kept of one kind is of
// no use to the other.
class LongGeneratorBatch : public GeneratorBatches {};
INSTANTIATE_TEST_SUITE_P(Phi3, LongGeneratorBatch, testing::Values("phi3-long"));

TEST_P(LongGeneratorBatch, KeepsWhatIsRotatedAlike) {
  Generator alone(model(800, {}, 128));
  GeneratorBatch batch(alone, {.prompt_tokens = 64, .kept_tokens = 2000});
  const Ids all = some_ids(300, 1);
  std::vector<std::int64_t> reused;
  // A long prompt, its short beginning twice, the long one again, of which what was kept is short; then one
  // that becomes long as it is written.
  for (const auto& [size, tokens] : {std::pair{200, 3}, {100, 3}, {100, 3}, {200, 3}, {126, 9}, {100, 3}}) {
    const Ids prompt(all.begin(), all.begin() + size);
    batch.add(prompt, options_with(tokens, 1));
    while (batch.size() > 0) {
      for (const GeneratorBatch::Ended& ended : batch.step()) {
        ASSERT_FALSE(ended.failure);
        reused.push_back(ended.written.reused);
        EXPECT_EQ(bits_of(ended.written), bits_of(alone.generate(prompt, options_with(tokens, 1)))) << size;
      }
    }
  }
  EXPECT_EQ(reused, (std::vector<std::int64_t>{0, 0, 64, 0, 64, 0}));
}

TEST_P(OneGeneratorBatch, RefusesWhatHasNoMeaning) {
  Generator alone(model(64));
  GeneratorBatch batch(alone);
  EXPECT_REFUSES(batch.add(Ids(), GenerateOptions()), "the prompt is empty");
  EXPECT_REFUSES(batch.add(Ids(1, 64), GenerateOptions()), "64");
  EXPECT_REFUSES(batch.add(Ids(1, 1), options_with(-1, 1)), "max_tokens is -1");
  EXPECT_REFUSES(batch.add(some_ids(64, 1), GenerateOptions(), true),
                 "the model can read 64 with its answer");
  EXPECT_EQ(batch.size(), 0);
  const auto none = batch.add(Ids{1}, {.max_tokens = 0});
  const auto ended = batch.step();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].id, none);
  EXPECT_TRUE(ended[0].written.tokens.empty());
}

}  // namespace
}  // namespace attend
