// Edits as text, what they change, and gradients towards another text.
#include <attend/lens_change.h>

#include <gtest/gtest.h>

#include <cmath>

#include "lens/golden_reading.h"

namespace attend {
namespace {

class Change : public testing::TestWithParam<const char*> {
 protected:
  GoldenModel golden_{GetParam()};
  TextModel model_ = golden_.load();
  Reading reading_{model_,
                   "the banks of the river , money"};  // [CLS] the bank ##s of the river , money [SEP]
};

std::string refusal(const Reading& reading, std::string_view edit) {
  try {
    parse_edit(reading, edit);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST_P(Change, EditsAreReadAsTheyAreWritten) {
  const PassEdits head = parse_edit(reading_, "2.1");
  ASSERT_EQ(head.heads.size(), 1u);
  EXPECT_EQ(head.heads[0].layer, 2);
  EXPECT_EQ(head.heads[0].head, 1);
  EXPECT_EQ(head.heads[0].scale, 0);
  EXPECT_EQ(static_cast<std::int64_t>(parse_edit(reading_, "1").heads.size()), reading_.heads());
  EXPECT_EQ(parse_edit(reading_, "1=0.5").heads[0].scale, 0.5);

  const PassEdits link = parse_edit(reading_, "money>banks");
  ASSERT_EQ(link.edges.size(), 2u);  // "banks" is two tokens
  EXPECT_EQ(link.edges[1].query, 8);
  EXPECT_EQ(link.edges[1].key, 3);
  EXPECT_EQ(link.edges[1].layer, EdgeEdit::kEveryLayer);
  EXPECT_EQ(link.edges[1].head, EdgeEdit::kEveryHead);
  const PassEdits one = parse_edit(reading_, "2.1:money>the#2=-1");
  ASSERT_EQ(one.edges.size(), 1u);
  EXPECT_EQ(one.edges[0].layer, 2);
  EXPECT_EQ(one.edges[0].head, 1);
  EXPECT_EQ(one.edges[0].key, 5);
  EXPECT_EQ(one.edges[0].scale, -1);
  EXPECT_EQ(parse_edit(reading_, "1:money>,").edges[0].layer, 1);
}

TEST_P(Change, RefusesWhatIsNotAnEdit) {
  EXPECT_NE(refusal(reading_, "").find("is not an edit"), std::string::npos);
  EXPECT_NE(refusal(reading_, "a.b").find("is not an edit"), std::string::npos);
  EXPECT_NE(refusal(reading_, "1.").find("is not an edit"), std::string::npos);
  EXPECT_NE(refusal(reading_, "x:money>river").find("is not an edit"), std::string::npos);
  EXPECT_EQ(refusal(reading_, "3"), "[lens] layer is 3, and layers count from 1 to 2");
  EXPECT_EQ(refusal(reading_, "0.1"), "[lens] layer is 0, and layers count from 1 to 2");
  EXPECT_NE(refusal(reading_, "1.99").find("[lens] head is 99, and heads count from 1 to "),
            std::string::npos);
  EXPECT_NE(refusal(reading_, "1.0").find("[lens] head is 0, and heads count from 1 to "), std::string::npos);
  EXPECT_NE(refusal(reading_, "1=nan").find("is not finite"), std::string::npos);
  EXPECT_NE(refusal(reading_, "money>nowhere").find("there is no word \"nowhere\""), std::string::npos);
  EXPECT_NE(refusal(reading_, "the>money").find("occurs 2 times"), std::string::npos);
}

TEST_P(Change, EqualsThatOfAPassWithTheEdits) {
  const PassEdits edits = parse_edit(reading_, "1.1");
  TokenBatch batch;
  batch.add(reading_.tokens().ids, reading_.tokens().type_ids);
  const Tensor out = model_.transformer().forward(batch, {}, {}, edits);
  const Reading edited(reading_, edits);
  const Tensor kept = copy_of(edited.hidden(reading_.layers()));
  EXPECT_TRUE(std::ranges::equal(out.values<float>(), kept.values<float>()));

  const OutputChange change = change_by(reading_, edits);
  EXPECT_EQ(change.text_cosine, cosine(text_vector(reading_), text_vector(edited)));
  EXPECT_GT(change.text_distance, 0);
  EXPECT_EQ(change.word_cosines.size(), reading_.words().size());
  const OutputChange none = change_by(reading_, {});
  EXPECT_EQ(none.text_distance, 0);
  for (const double value : none.word_cosines) EXPECT_NEAR(value, 1, 1e-12);
}

// Scaling a weight by 1 ± h changes the cosine by about ± h · weight · slope.
TEST_P(Change, GradientsSayWhichWayTheOutputGoes) {
  const Reading other(model_, "money is the bank");
  const std::vector<double> target = text_vector(other);
  const PassGradients gradients = gradients_towards(reading_, target);
  const Reading::Layer& layer = reading_.layer(2);
  const Tensor weights = attention_rows(layer.q, layer.k, layer.options, Stage::weights, {}, layer.state);
  const std::int64_t n = reading_.size(), heads = reading_.heads(), size = layer.v.size(2), query = 5;
  double largest = 0, worst = 0;
  for (std::int64_t key = 0; key <= query; ++key) {
    double expected = 0;
    for (std::int64_t c = 0; c < size; ++c) {
      expected +=
          static_cast<double>(
              gradients.attended[1].values<float>()[static_cast<std::size_t>(query * heads * size + c)]) *
          static_cast<double>(layer.v.values<float>()[static_cast<std::size_t>(key * heads * size + c)]);
    }
    expected *= static_cast<double>(weights.values<float>()[static_cast<std::size_t>(query * n + key)]);
    const double step = 0.5;
    double values[2];
    for (const int side : {0, 1}) {
      const PassEdits edits{
          .edges = {
              {.layer = 2, .head = 1, .query = query, .key = key, .scale = side == 0 ? 1 + step : 1 - step}}};
      values[side] = cosine(text_vector(Reading(reading_, edits)), target);
    }
    largest = std::max(largest, std::abs(expected));
    worst = std::max(worst, std::abs((values[0] - values[1]) / (2 * step) - expected));
  }
  EXPECT_GT(largest, 0);
  EXPECT_LT(worst, 0.05 * largest + 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Lens, Change, testing::Values("bert", "mpnet", "gpt2"));

TEST(Change, RefusesAVectorOfAnotherSize) {
  const GoldenModel golden("bert");
  const Reading reading(golden.load(), "the bank");
  EXPECT_THROW(gradients_towards(reading, std::vector<double>(3)), std::invalid_argument);
  EXPECT_THROW(gradients_towards(reading, std::vector<double>(text_vector(reading).size())),
               std::invalid_argument);
  EXPECT_THROW(lens_map(reading, {.method = LensMethod::grad}, reading.words()), std::invalid_argument);
}

}  // namespace
}  // namespace attend
