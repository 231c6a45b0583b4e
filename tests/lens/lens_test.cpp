// Rows and maps of every family: they add up, follow from the weights, and are the same for one row and for
// all.
#include <attend/lens.h>
#include <attend/threads.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lens/golden_reading.h"

namespace attend {
namespace {

constexpr const char* kText = "The banks of the river, money is the bank.";

class Families : public testing::TestWithParam<const char*> {
 protected:
  Families() : model_(golden_.load()), reading_(model_, kText) {}
  GoldenModel golden_{GetParam()};
  TextModel model_;
  Reading reading_;
};

std::vector<double> row_of(const Tensor& map, std::int64_t row) {
  const auto size = static_cast<std::size_t>(map.size(1));
  const auto values = map.values<double>().subspan(static_cast<std::size_t>(row) * size, size);
  return {values.begin(), values.end()};
}

double sum_of(const std::vector<double>& row) { return std::accumulate(row.begin(), row.end(), 0.0); }

TEST_P(Families, AReadingAnswersAfterThePassAsDuringIt) {
  TokenBatch batch;
  batch.add(reading_.tokens().ids, reading_.tokens().type_ids);
  model_.transformer().forward(batch, [&](const LayerMoment& moment) {
    const Tensor hidden = copy_of(moment.hidden), kept = copy_of(reading_.hidden(moment.layer));
    EXPECT_TRUE(std::ranges::equal(hidden.values<float>(), kept.values<float>()));
    if (moment.layer == 0) return;
    const Tensor during =
        attention_rows(moment.q, moment.k, moment.options, Stage::weights, {}, moment.row_state);
    const Reading::Layer& layer = reading_.layer(moment.layer);
    const Tensor after = attention_rows(layer.q, layer.k, layer.options, Stage::weights, {}, layer.state);
    EXPECT_TRUE(std::ranges::equal(during.values<float>(), after.values<float>()));
    // For one head, the lens shows those weights.
    for (std::int64_t head = 1; head <= reading_.heads(); ++head) {
      const Tensor map =
          lens_map(reading_, {.method = LensMethod::raw, .heads = {.layer = moment.layer, .head = head}},
                   single_tokens(reading_));
      for (std::int64_t i = 0; i < map.count(); ++i) {
        EXPECT_NEAR(map.values<double>()[static_cast<std::size_t>(i)],
                    static_cast<double>(
                        after.values<float>()[static_cast<std::size_t>((head - 1) * map.count() + i)]),
                    1e-6);
      }
    }
  });
}

TEST_P(Families, EveryRowAddsUpToOne) {
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm}) {
    for (const HeadChoice& heads :
         {HeadChoice{}, HeadChoice{.layer = 1}, HeadChoice{.layer = 2, .head = 2}}) {
      for (const std::vector<Word>& units : {reading_.words(), single_tokens(reading_)}) {
        const Tensor map = lens_map(reading_, {.method = method, .heads = heads}, units);
        for (std::int64_t i = 0; i < map.size(0); ++i) {
          EXPECT_NEAR(sum_of(row_of(map, i)), 1, 1e-12);
          EXPECT_EQ(row_of(map, i), lens_row(reading_, {.method = method, .heads = heads}, units,
                                             static_cast<std::size_t>(i)));
        }
      }
    }
  }
}

// The lengths are those of vectors that, added up, are what the layer's attention gives.
TEST_P(Families, LengthsAreThoseOfWhatIsAdded) {
  const std::int64_t layer = 2, n = reading_.size(), heads = reading_.heads();
  const std::int64_t e = model_.transformer().description().hidden_size;
  const Reading::Layer& kept = reading_.layer(layer);
  const Tensor weights = attention_rows(kept.q, kept.k, kept.options, Stage::weights, {}, kept.state);
  std::vector<double> vectors(static_cast<std::size_t>(n * n * e));
  for (std::int64_t h = 0; h < heads; ++h) {
    Tensor projected(DType::f32, {n, e});
    model_.transformer().project_head(layer, h + 1, kept.v.view().select(1, h), projected);
    for (std::int64_t ij = 0; ij < n * n; ++ij) {
      const auto weight =
          static_cast<double>(weights.values<float>()[static_cast<std::size_t>(h * n * n + ij)]);
      for (std::int64_t c = 0; c < e; ++c) {
        vectors[static_cast<std::size_t>(ij * e + c)] +=
            weight * static_cast<double>(projected.values<float>()[static_cast<std::size_t>(ij % n * e + c)]);
      }
    }
  }
  const Tensor map =
      lens_map(reading_, {.method = LensMethod::norm, .heads = {.layer = layer}}, single_tokens(reading_));
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<double> lengths;
    for (std::int64_t j = 0; j < n; ++j) {
      double square = 0;
      for (std::int64_t c = 0; c < e; ++c)
        square += std::pow(vectors[static_cast<std::size_t>((i * n + j) * e + c)], 2);
      lengths.push_back(std::sqrt(square));
    }
    const double total = sum_of(lengths);
    for (std::int64_t j = 0; j < n; ++j)
      EXPECT_NEAR(row_of(map, i)[static_cast<std::size_t>(j)], lengths[static_cast<std::size_t>(j)] / total,
                  1e-6);
  }
}

TEST_P(Families, ThreadsDoNotChangeABit) {
  set_threads(1);
  const Tensor one = lens_map(reading_, {.method = LensMethod::norm, .heads = {}}, reading_.words());
  set_threads(3);
  const Tensor three =
      lens_map(Reading(model_, kText), {.method = LensMethod::norm, .heads = {}}, reading_.words());
  set_threads(0);
  EXPECT_TRUE(std::ranges::equal(one.values<double>(), three.values<double>()));
}

TEST_P(Families, AWordWithItselfHasCosineOne) {
  const WordComparison same = compare_word(reading_, 2, reading_, 2);
  EXPECT_EQ(same.static_cosine, 1);
  for (const double value : same.cosines) EXPECT_NEAR(value, 1, 1e-12);
  EXPECT_EQ(static_cast<std::int64_t>(same.cosines.size()), reading_.layers() + 1);
  EXPECT_EQ(same.taken_first.shape(),
            (Dims{reading_.layers(), static_cast<std::int64_t>(reading_.words().size())}));
}

TEST_P(Families, RowsOneByOneMatchTheMap) {
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm, LensMethod::rollout}) {
    const LensQuery query{.method = method};
    const Tensor map = lens_map(reading_, query, reading_.words());
    std::size_t next = 0;
    lens_each_row(reading_, query, reading_.words(), [&](std::size_t unit, std::span<const double> row) {
      EXPECT_EQ(unit, next++);
      EXPECT_EQ(std::vector<double>(row.begin(), row.end()), row_of(map, static_cast<std::int64_t>(unit)));
    });
    EXPECT_EQ(next, reading_.words().size());
  }
}

// Words make up a stretch just as tokens make up a word.
TEST_P(Families, StretchesOfWordsAreMergedAsWordsAre) {
  const std::vector<Word> tokens = single_tokens(reading_), pairs = stretches_of(tokens, 2);
  for (const LensMethod method : {LensMethod::raw, LensMethod::rollout}) {
    const Tensor fine = lens_map(reading_, {.method = method}, tokens);
    const Tensor coarse = lens_map(reading_, {.method = method}, pairs);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      for (std::size_t j = 0; j < pairs.size(); ++j) {
        double expected = 0;
        for (std::int64_t q = pairs[i].first_token; q < pairs[i].last_token; ++q) {
          for (std::int64_t k = pairs[j].first_token; k < pairs[j].last_token; ++k)
            expected += row_of(fine, q)[static_cast<std::size_t>(k)];
        }
        expected /= static_cast<double>(pairs[i].last_token - pairs[i].first_token);
        EXPECT_NEAR(row_of(coarse, static_cast<std::int64_t>(i))[j], expected, 1e-12);
      }
    }
  }
}

TEST(Stretches, KeepSpecialTokensAndTextsApart) {
  std::vector<Word> units;
  for (const char* const text : {"[CLS]", "a", "b", "c", "[SEP]", "d", "e", "f"}) {
    const auto token = static_cast<std::int32_t>(units.size());
    units.push_back({.text = text,
                     .place = {token, token + 1},
                     .first_token = token,
                     .last_token = token + 1,
                     .part = token == 7 ? 1 : 0,
                     .special = text[0] == '['});
  }
  std::vector<std::string> texts;
  std::int64_t covered = 0;
  for (const Word& stretch : stretches_of(units, 3)) {
    texts.push_back(stretch.text);
    EXPECT_EQ(stretch.first_token, covered);
    covered = stretch.last_token;
    EXPECT_EQ(stretch.place.end, covered);
  }
  EXPECT_EQ(covered, 8);
  EXPECT_EQ(texts, (std::vector<std::string>{"[CLS]", "a … c", "[SEP]", "d … e", "f"}));
  EXPECT_EQ(stretches_of(units, 1).size(), units.size());
  EXPECT_TRUE(stretches_of({}, 4).empty());
  EXPECT_THROW(stretches_of(units, 0), std::invalid_argument);
}

// A reading of one layer gives the same answers as a full one, and refuses questions about other layers.
TEST_P(Families, AReadingOfOneLayer) {
  const Reading one(model_, kText, {}, {.only_layer = 1});
  EXPECT_EQ(one.layers(), reading_.layers());
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm}) {
    const LensQuery query{.method = method, .heads = {.layer = 1}};
    EXPECT_TRUE(std::ranges::equal(lens_map(one, query, one.words()).values<double>(),
                                   lens_map(reading_, query, reading_.words()).values<double>()));
  }
  EXPECT_THROW(one.layer(2), std::invalid_argument);
  EXPECT_THROW(one.hidden(0), std::invalid_argument);
  EXPECT_THROW(lens_map(one, {.method = LensMethod::rollout, .heads = {.layer = 2}}, one.words()),
               std::invalid_argument);
  EXPECT_THROW(Reading(model_, kText, {}, {.only_layer = 3}), std::invalid_argument);
  EXPECT_THROW(Reading(model_, kText, {}, {.only_layer = 0}), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Lens, Families, testing::ValuesIn(kFamilies), [](const auto& name) {
  std::string text = name.param;
  std::erase(text, '-');
  return text;
});

TEST(Lens, CausalModelsDoNotLookAhead) {
  const GoldenModel golden("gpt2");
  const TextModel model = golden.load();
  const Reading reading(model, kText);
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm}) {
    const Tensor map = lens_map(reading, {.method = method, .heads = {}}, single_tokens(reading));
    for (std::int64_t i = 0; i < map.size(0); ++i) {
      for (std::int64_t j = i + 1; j < map.size(1); ++j)
        EXPECT_EQ(row_of(map, i)[static_cast<std::size_t>(j)], 0);
    }
  }
}

TEST(Lens, SpecialTokensCanBeFoldedAway) {
  const std::vector<Word> units = {{.text = "[CLS]", .special = true}, {.text = "a"}, {.text = "b"}};
  const std::vector<double> row = {0.5, 0.1, 0.4}, all = {1, 0, 0};
  EXPECT_EQ(special_share(row, units), 0.5);
  EXPECT_EQ(without_special(row, units), (std::vector<double>{0.2, 0.8}));
  EXPECT_EQ(without_special(all, units), (std::vector<double>{0, 0}));
}

TEST(Lens, RefusesWhatIsNotThere) {
  const GoldenModel golden("bert");
  const TextModel model = golden.load();
  const Reading reading(model, "the bank");
  const auto refusal = [&](const auto& call) -> std::string {
    try {
      call();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  const auto rows = [&](const HeadChoice& heads) {
    lens_map(reading, {.method = LensMethod::raw, .heads = heads}, reading.words());
  };
  EXPECT_EQ(refusal([&] { rows({.layer = 3}); }), "[lens] layer is 3, and layers count from 1 to 2");
  EXPECT_EQ(refusal([&] { rows({.layer = 0}); }), "[lens] layer is 0, and layers count from 1 to 2");
  EXPECT_EQ(refusal([&] { rows({.head = 1}); }), "[lens] head 1 of which layer?");
  EXPECT_EQ(refusal([&] { rows({.layer = 1, .head = 0}); }), "[lens] head is 0, and heads count from 1 to 4");
  EXPECT_EQ(refusal([&] { rows({.layer = 1, .head = 5}); }), "[lens] head is 5, and heads count from 1 to 4");
  Tensor projected(DType::f32, {reading.size(), 32});
  EXPECT_EQ(refusal([&] {
              model.transformer().project_head(1, 0, reading.layer(1).v.view().select(1, 0), projected);
            }),
            "[project_head] head is 0, and heads count from 1 to 4");
  EXPECT_EQ(refusal([&] { lens_row(reading, {.method = LensMethod::raw, .heads = {}}, reading.words(), 9); }),
            "[lens] unit is 9, but there are 4, counted from 0");
  EXPECT_EQ(refusal([&] { word_vector(reading, 9, 0); }),
            "[lens] word is 9, but there are 4, counted from 0");
  EXPECT_EQ(lens_method_named("norm"), LensMethod::norm);
  EXPECT_EQ(lens_method_named("magic"), std::nullopt);
}

}  // namespace
}  // namespace attend
