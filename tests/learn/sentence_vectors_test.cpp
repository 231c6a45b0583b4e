// From the parameters of an encoder through the vectors of sentences to the losses of pairs, and back.
#include "learn/sentence_vectors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "train/pair_loss.h"

namespace attend::learn {
namespace {

const std::vector<double> kScores{0.9, 0.1, 0.5};

class EachPooling : public testing::TestWithParam<Pooling> {};
INSTANTIATE_TEST_SUITE_P(Poolings, EachPooling,
                         testing::Values(Pooling::cls, Pooling::max, Pooling::mean, Pooling::mean_sqrt_length,
                                         Pooling::weighted_mean, Pooling::last_token),
                         [](const auto& one) { return std::string(name_of(one.param)); });

TEST_P(EachPooling, GradientsAgreeWithFiniteDifferences) {
  model::OwnModel shape{.kind = model::ModelKind::encoder,
                        .vocabulary = 11,
                        .length = 5,
                        .layers = 2,
                        .hidden = 8,
                        .heads = 2,
                        .inner = 12,
                        .norm_first = false,
                        .feed_forward = model::FeedForwardKind::gelu};
  ModelDescription description = model::describe(shape);
  description.token_types = 1;
  train::Batch texts{.tokens = {.count = 6, .length = 5, .lengths = {5, 1, 3, 2, 4, 5}}};
  for (std::uint64_t i = 0; i < 30; ++i) texts.tokens.ids.push_back(static_cast<int>(random_bits(1, i) % 11));
  train::Model model(description, {.sequences = 6, .guesses = false}, DType::f64);
  model.parameters().initialise(3);
  // GetParam() next to the mean: with several poolings, parts of a vector come from different ones.
  const std::vector<Pooling> poolings{GetParam(), Pooling::mean};
  const auto loss = [&] {
    double found = 0;
    model.learn_from_hidden(
        texts,
        [&](ConstTensorView hidden, TensorView d_hidden) {
          const SentenceVectors sentences(hidden, texts.tokens, poolings);
          Tensor d(DType::f64, sentences.vectors().shape()), d_more(DType::f64, sentences.vectors().shape());
          const ConstTensorView first = sentences.vectors().slice(0, 0, 3),
                                second = sentences.vectors().slice(0, 3, 6);
          found = train::cosine_regression(first, second, kScores, 1, d.view().slice(0, 0, 3),
                                           d.view().slice(0, 3, 6)) +
                  train::contrastive(first, second, {}, 1, d_more.view().slice(0, 0, 3),
                                     d_more.view().slice(0, 3, 6));
          for (std::size_t i = 0; i < d.values<double>().size(); ++i)
            d.values<double>()[i] += d_more.values<double>()[i];
          sentences.backward(d, d_hidden);
        },
        0);
    return found;
  };
  model.parameters().clear_gradients();
  loss();
  const Tensor found = copy_of(model.parameters().gradients());
  double* const values = model.parameters().values().data<double>();
  for (int i = 0; i < model.parameters().count(); ++i) {
    const train::Parameter& parameter = model.parameters()[i];
    const auto at = static_cast<std::size_t>(parameter.offset + element_count(parameter.shape) / 3);
    const double before = values[at];
    const auto moved = [&](double steps) {
      values[at] = before + steps * 1e-4;
      return loss();
    };
    const double near = moved(1) - moved(-1), far = moved(2) - moved(-2);
    values[at] = before;
    const double expected = (8 * near - far) / 12e-4;
    EXPECT_NEAR(found.values<double>()[at], expected, 1e-6 * std::max(1.0, std::abs(expected)))
        << parameter.name;
  }
}

}  // namespace
}  // namespace attend::learn
