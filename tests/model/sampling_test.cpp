// What is drawn from, against transformers in float64 (tools/golden/make_sampling.py), and the draw itself.
#include <attend/generation.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>

#include "io/json_document.h"
#include "support/refuses.h"

namespace attend {
namespace {

std::vector<std::int32_t> ids_in(const io::JsonValue& list) {
  std::vector<std::int32_t> ids;
  for (const io::JsonValue id : list.elements())
    ids.push_back(static_cast<std::int32_t>(id.integer(0, 1000)));
  return ids;
}

TEST(Sampling, KeepsWhatTransformersKeeps) {
  std::ifstream file(ATTEND_GOLDEN_SAMPLING);
  std::size_t cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    SCOPED_TRACE(line);
    const io::JsonDocument document("sampling.jsonl", line);
    const io::JsonValue given = document.root();
    std::vector<float> logits;
    for (const io::JsonValue logit : given.at("logits").elements())
      logits.push_back(static_cast<float>(logit.number()));
    const auto number = [&](std::string_view key, double usual) {
      const auto found = given.find(key);
      return found ? found->number() : usual;
    };
    const Sampling sampling{.temperature = number("temperature", 1),
                            .top_k = static_cast<std::int64_t>(number("top_k", 0)),
                            .top_p = number("top_p", 1),
                            .min_p = number("min_p", 0),
                            .repetition_penalty = number("repetition_penalty", 1),
                            .frequency_penalty = number("frequency_penalty", 0),
                            .presence_penalty = number("presence_penalty", 0)};
    const std::vector<std::int32_t> prompt = ids_in(given.at("prompt")),
                                    written = ids_in(given.at("written"));
    const Tensor values = Tensor::from<float>({static_cast<std::int64_t>(logits.size())}, logits);
    const std::vector<TokenProbability> kept =
        sampling_distribution(values, sampling, {.prompt = prompt, .written = written});
    std::vector<std::int32_t> ids;
    for (const TokenProbability& token : kept) ids.push_back(token.id);
    ASSERT_EQ(ids, ids_in(given.at("ids")));
    std::size_t i = 0;
    for (const io::JsonValue share : given.at("probabilities").elements())
      EXPECT_NEAR(kept[i++].probability, share.number(), 1e-12);
    // Draws follow the shares, and a draw is the same at any time.
    for (std::uint64_t draw = 0; draw < 20; ++draw) {
      const std::int32_t id = sample(values, sampling, draw, {.prompt = prompt, .written = written});
      EXPECT_NE(std::find(ids.begin(), ids.end(), id), ids.end());
    }
  }
  EXPECT_EQ(cases, 150u);
}

TEST(Sampling, OfEqualsTakesTheFirst) {
  const Tensor logits = Tensor::from<float>({5}, {1, 3, 2, 3, 3});
  EXPECT_EQ(sample(logits, {.temperature = 0}, 0), 1);
  const std::vector<std::int32_t> prompt = {1};
  EXPECT_EQ(sample(logits, {.temperature = 0, .repetition_penalty = 2}, 0, {.prompt = prompt}), 3);
  EXPECT_EQ(sample(logits, {.temperature = 0, .presence_penalty = 1}, 0, {.prompt = prompt}),
            1);  // not written yet
  EXPECT_EQ(sample(logits, {.temperature = 0, .presence_penalty = 1}, 0, {.written = prompt}), 3);
  const std::vector<TokenProbability> two = sampling_distribution(logits, {.temperature = 1, .top_k = 2});
  ASSERT_EQ(two.size(), 3u);  // with those that are equal to the last
  EXPECT_EQ(two[0].id, 1);
  EXPECT_EQ(two[2].id, 4);
}

TEST(Sampling, RefusesWhatHasNoMeaning) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const Tensor logits = Tensor::from<float>({3}, {1, 2, 3});
  const auto draw = [](std::vector<float> values) {
    return sample(Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values), {.temperature = 1},
                  0);
  };
  EXPECT_REFUSES(draw({1, nan}), "numbers that are not finite");
  EXPECT_REFUSES(draw({1, infinity}), "numbers that are not finite");
  EXPECT_REFUSES(draw({-infinity, -infinity}), "every token the probability 0");
  EXPECT_EQ(draw({-infinity, 5, -infinity}), 1);
  EXPECT_REFUSES(sample(logits, {.top_p = 1.5}, 0), "top_p is 1.5, expected a number from 0 to 1");
  EXPECT_REFUSES(sample(logits, {.min_p = -0.5}, 0), "min_p is -0.5");
  EXPECT_REFUSES(sample(logits, {.repetition_penalty = 0}, 0),
                 "repetition_penalty is 0, expected a number above 0");
  EXPECT_REFUSES(sample(logits, {.presence_penalty = 3}, 0),
                 "presence_penalty is 3, expected a number from -2 to 2");
}

}  // namespace
}  // namespace attend
