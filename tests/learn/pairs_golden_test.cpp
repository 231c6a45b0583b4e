// Losses of pairs, their gradients, and 20 steps of an encoder that learns from them, compared with
// sentence-transformers in float64. The file is made by tools/golden/make_pairs.py.
#include <attend/checkpoint.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "learn/pretrained.h"
#include "learn/sentence_vectors.h"
#include "support/compare.h"
#include "train/optimiser.h"
#include "train/pair_loss.h"

namespace attend::learn {
namespace {

constexpr std::int64_t kPairs = 6, kLength = 7;

class PairsGolden : public testing::TestWithParam<const char*> {
 protected:
  // The mean over the pairs, as sentence-transformers has it.
  double loss(ConstTensorView first, ConstTensorView second, TensorView d_first, TensorView d_second) const {
    constexpr double kWeight = 1.0 / kPairs;
    if (std::string(GetParam()) == "partners")
      return kWeight * train::contrastive(first, second, {}, kWeight, d_first, d_second);
    const std::vector<double> scores = values_of(golden.tensor("scores"));
    return kWeight * train::cosine_regression(first, second, scores, kWeight, d_first, d_second);
  }
  // The losses of 20 steps.
  std::vector<double> trace(DType dtype) const {
    train::Batch texts{.tokens = {.count = 2 * kPairs, .length = kLength}};
    for (const double id : values_of(golden.tensor("trace.ids")))
      texts.tokens.ids.push_back(static_cast<std::int32_t>(id));
    for (const double length : values_of(golden.tensor("trace.lengths")))
      texts.tokens.lengths.push_back(static_cast<std::int64_t>(length));
    const Pretrained start(std::string(ATTEND_GOLDEN_MODELS) + "/bert");
    train::Model model(start.description_for(kLength), {.sequences = 2 * kPairs, .guesses = false}, dtype);
    start.fill(model);
    std::vector<double> losses;
    for (std::int64_t step = 1; step <= 20; ++step) {
      model.parameters().clear_gradients();
      model.learn_from_hidden(
          texts,
          [&](ConstTensorView hidden, TensorView d_hidden) {
            const SentenceVectors sentences(hidden, texts.tokens, {Pooling::mean});
            const ConstTensorView all = sentences.vectors();
            Tensor d(dtype, all.shape());
            losses.push_back(loss(all.slice(0, 0, kPairs), all.slice(0, kPairs, 2 * kPairs),
                                  d.view().slice(0, 0, kPairs), d.view().slice(0, kPairs, 2 * kPairs)));
            sentences.backward(d, d_hidden);
          },
          0);
      train::adamw_step(model.parameters(), {.decay = 0, .clip = 1}, 1e-3, step,
                        train::gradient_norm(model.parameters()));
    }
    return losses;
  }

  const Checkpoint golden = Checkpoint::open(ATTEND_GOLDEN_MODELS "/../training/pairs.safetensors");
};
INSTANTIATE_TEST_SUITE_P(Losses, PairsGolden, testing::Values("scores", "partners"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(PairsGolden, LossesAndGradients) {
  const auto tensor = [&](const char* name) {
    return golden.tensor(std::string("vectors.") + GetParam() + name);
  };
  Tensor d_first(DType::f64, tensor(".first").shape()), d_second(DType::f64, tensor(".first").shape());
  EXPECT_NEAR(loss(tensor(".first"), tensor(".second"), d_first, d_second), values_of(tensor(".loss"))[0],
              1e-12);
  EXPECT_LT(max_abs_difference(d_first, tensor(".d_first")), 1e-12);
  EXPECT_LT(max_abs_difference(d_second, tensor(".d_second")), 1e-12);
}

TEST_P(PairsGolden, TwentySteps) {
  const std::vector<double> expected = values_of(golden.tensor(std::string("trace.") + GetParam()));
  const std::vector<double> wide = trace(DType::f64), narrow = trace(DType::f32);
  for (std::size_t step = 0; step < expected.size(); ++step) {
    EXPECT_NEAR(wide[step], expected[step], 1e-9) << step;
    EXPECT_NEAR(narrow[step], expected[step], 2e-5) << step;
  }
}

}  // namespace
}  // namespace attend::learn
