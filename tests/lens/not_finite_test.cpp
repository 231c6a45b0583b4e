// NaN and infinity are shown as such, with the place where they first appear.
#include <attend/lens_change.h>
#include <attend/lens_heads.h>
#include <attend/lens_tiles.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lens/golden_reading.h"
#include "support/poison.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr const char* kRiverText = "The banks of the river.";
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TextModel poisoned(const std::string& tensor, std::int64_t place, float value,
                   const std::string& family = "bert") {
  const GoldenModel golden(family);
  poison(golden.weights(), tensor, place, value);
  return golden.load();
}

bool all_nan(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isnan(value); });
}

void expect_place(const std::optional<NotFinite>& where, std::int64_t layer, const char* part,
                  std::int64_t token) {
  ASSERT_TRUE(where.has_value());
  EXPECT_EQ(where->layer, layer);
  EXPECT_EQ(where->part, part);
  EXPECT_EQ(where->token, token);
}

TEST(NotFinite, IsFoundWhereItBegins) {
  EXPECT_FALSE(Reading(GoldenModel("bert").load(), kRiverText).not_finite());
  const std::string layer = "encoder.layer.1.";
  const struct {
    const char* tensor;
    const char* part;
  } cases[] = {{"attention.self.query.weight", "queries"},
               {"attention.self.key.bias", "keys"},
               {"attention.self.value.bias", "values"},
               {"attention.output.dense.bias", "output"},
               {"output.dense.weight", "output"}};
  for (const auto& [tensor, part] : cases) {
    SCOPED_TRACE(tensor);
    expect_place(Reading(poisoned(layer + tensor, 0, kNan), kRiverText).not_finite(), 2, part, 0);
  }
  // "##s" is id 7, and token 3 of the text.
  const TextModel model = GoldenModel("bert").load();
  const std::int64_t place = 7 * model.transformer().description().hidden_size;
  const Reading reading(poisoned("embeddings.word_embeddings.weight", place, kNan), kRiverText);
  expect_place(reading.not_finite(), 0, "embeddings", 3);
  EXPECT_EQ(sentence_of(reading, *reading.not_finite()),
            "Not all numbers are finite: NaN or infinity first appears in the embeddings, at token 3 (##s).");
  EXPECT_TRUE(
      Reading(reading.model(), kRiverText, "", {.only_layer = 1, .keep = Keep::last_state}).not_finite());
}

TEST(NotFinite, RowsAndMapsAreNanInEveryMethod) {
  const TextModel model = poisoned("encoder.layer.0.attention.self.query.bias", 0, kNan);
  const Reading reading(model, kRiverText);
  const std::vector<Word>& words = reading.words();
  // Only the first head is NaN, and so is every mean that includes it.
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm, LensMethod::rollout})
    EXPECT_TRUE(all_nan(lens_map(reading, {.method = method}, words).values<double>())) << name_of(method);
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm, LensMethod::rollout, LensMethod::flow}) {
    EXPECT_TRUE(all_nan(lens_row(reading, {.method = method}, words, 1))) << name_of(method);
  }
  const LensQuery head{.method = LensMethod::raw, .heads = {.layer = 1, .head = 1}};
  EXPECT_TRUE(all_nan(lens_row(reading, head, words, 1)));
  EXPECT_TRUE(all_nan(without_special(lens_row(reading, head, words, 1), words)));
  EXPECT_TRUE(all_nan(lens_received(reading, {}, words)));
  EXPECT_EQ(habit_of(profile_heads(reading).front()), "not finite");
  const HeadLink link = find_heads(reading, {.from = 1, .to = 2}).front();
  EXPECT_TRUE(std::isnan(link.weight)) << "before the numbers";
  EXPECT_TRUE(std::isnan(link.share));
}

// What a causal model may not look at stays 0, whatever the rest is.
TEST(NotFinite, MaskedKeysStayZero) {
  const Reading reading(poisoned("h.0.attn.c_attn.bias", 0, kNan, "gpt2"), kRiverText);
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm, LensMethod::rollout}) {
    const std::vector<double> row = lens_row(reading, {.method = method}, single_tokens(reading), 1);
    EXPECT_TRUE(all_nan(std::span(row).first(2))) << name_of(method);
    for (const double value : std::span(row).subspan(2)) EXPECT_EQ(value, 0) << name_of(method);
  }
}

TEST(NotFinite, TilesSayWhichCells) {
  const Reading reading(poisoned("h.0.attn.c_attn.bias", 0, kNan, "gpt2"), kRiverText);
  const std::vector<Word> tokens = single_tokens(reading);
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm, LensMethod::rollout}) {
    LensTiles tiles(reading, {.method = method}, tokens);
    const LensTile tile = tiles.tile(0, 0, 0);
    EXPECT_TRUE(tile.not_finite);
    for (std::size_t i = 0; i < tile.cells.size(); ++i) {
      const bool seen = i % tokens.size() <= i / tokens.size();
      EXPECT_EQ(std::isnan(tile.value(i)), seen) << name_of(method) << " " << i;
      if (!seen) {
        EXPECT_EQ(tile.value(i), 0);
      }
    }
    EXPECT_TRUE(std::isnan(tiles.row(2)[1]));
  }
}

TEST(NotFinite, AnEditThatOverflows) {
  const Reading reading(GoldenModel("bert").load(), kRiverText);
  const OutputChange change = change_by(reading, parse_edit(reading, "1.1=1e308"));
  expect_place(change.not_finite, 1, "attended values", 0);
  EXPECT_TRUE(std::isnan(change.text_cosine));
  EXPECT_TRUE(std::isnan(change.text_distance));
  EXPECT_TRUE(all_nan(change.word_cosines));
  EXPECT_FALSE(change_by(reading, parse_edit(reading, "1.1=2")).not_finite);
}

TEST(NotFinite, VectorsAndTheirCosines) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::vector<double> one{1, 0}, zero{0, 0};
  EXPECT_EQ(cosine(one, zero), 0);
  for (const double bad : {nan, inf, -inf}) {
    EXPECT_TRUE(std::isnan(cosine(one, std::vector{bad, 1.0})));
    EXPECT_TRUE(std::isnan(cosine(std::vector{1.0, bad}, zero)));
  }
  const Reading sound(GoldenModel("bert").load(), kRiverText);
  const Reading reading(poisoned("encoder.layer.1.output.dense.bias", 0, kNan), kRiverText);
  const WordComparison pair = compare_word(sound, 1, reading, 1);
  EXPECT_FALSE(std::isnan(pair.cosines[1]));
  EXPECT_TRUE(std::isnan(pair.cosines[2]));
  EXPECT_REFUSES(gradients_towards(reading, text_vector(sound)), "the vector of the text is not finite");
  EXPECT_REFUSES(gradients_towards(sound, text_vector(reading)), "the other vector is not finite");
}

}  // namespace
}  // namespace attend
