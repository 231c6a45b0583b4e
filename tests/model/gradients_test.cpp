// The gradients of the encoder against differences of a transformer in float64.
#include <attend/isa.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "model/float64_transformer.h"
#include "model/golden_model.h"
#include "model/random_checkpoint.h"
#include "support/random.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend {
namespace {

class EncoderGradient : public EachGoldenModel {
 protected:
  // L = sum of what leaves the pass over text `text`, times d_out.
  double loss(const PassHooks& hooks, std::optional<std::int64_t> layers = {}) const {
    const Matrix out = judge.forward(text_of(texts, text), hooks, layers);
    double sum = 0;
    for (std::int64_t i = 0; i < out.rows; ++i)
      for (std::int64_t j = 0; j < out.columns; ++j) sum += out.at(i, j) * factor(i, j);
    return sum;
  }
  double factor(std::int64_t row, std::int64_t column) const {
    const std::int64_t place = (begin() + row) * config.hidden_size + column;
    return d_out.values<float>()[static_cast<std::size_t>(place)];
  }
  // dL / d element (row, column) of what leaves the embeddings (layer 0), or of a layer's attended values.
  double slope(std::int64_t layer, std::int64_t row, std::int64_t column,
               std::optional<std::int64_t> layers = {}) const {
    constexpr double kStep = 1e-4;
    const auto at = [&](double step) {
      if (layer == 0) return loss({.embeddings = [&](Matrix& x) { x.at(row, column) += step; }}, layers);
      return loss({.attended =
                       [&](std::int64_t of, Matrix& x) {
                         if (of == layer) x.at(row, column) += step;
                       }},
                  layers);
    };
    return (at(kStep) - at(-kStep)) / (2 * kStep);
  }
  std::int64_t columns_of_layer(std::int64_t layer) const {
    if (layer == 0) return config.hidden_size;
    const AttentionDescription& attention = config.layer(layer).attention;
    return attention.heads * attention.head_size;
  }
  std::int64_t begin() const { return texts.ends[static_cast<std::size_t>(text)]; }
  std::int64_t length() const { return texts.ends[static_cast<std::size_t>(text) + 1] - begin(); }

  const Float64Transformer judge{config, tensors};
  const TokenBatch texts = batch();
  const Tensor d_out = random_normal({texts.tokens(), config.hidden_size}, DType::f32, 1);
  std::int64_t text = 0;
};
INSTANTIATE_TEST_SUITE_P(Families, EncoderGradient, testing::ValuesIn(kGoldenModels), golden_name);

struct Expected {
  std::int64_t layer, row, column;
  double slope;
};

const float* gradient_of(const PassGradients& gradients, std::int64_t layer) {
  const Tensor& tensor =
      layer == 0 ? gradients.embeddings : gradients.attended[static_cast<std::size_t>(layer) - 1];
  return tensor.values<float>().data();
}

// The width of a row of that.
std::int64_t width_of(const PassGradients& gradients, std::int64_t layer) {
  const Tensor& tensor =
      layer == 0 ? gradients.embeddings : gradients.attended[static_cast<std::size_t>(layer) - 1];
  return tensor.count() / tensor.size(0);
}

// Within 1e-4 of each number, or within 1e-6 of the largest for tiny ones.
void expect_close(const PassGradients& found, const std::vector<Expected>& all, std::int64_t begin) {
  double largest = 0;
  for (const Expected& one : all) largest = std::max(largest, std::abs(one.slope));
  EXPECT_GT(largest, 0.1);
  for (const Expected& one : all) {
    const std::int64_t width = width_of(found, one.layer);
    const double value = gradient_of(found, one.layer)[(begin + one.row) * width + one.column];
    ASSERT_NEAR(value, one.slope, 1e-4 * std::abs(one.slope) + 1e-6 * largest)
        << "layer " << one.layer << ", token " << one.row << ", place " << one.column;
  }
}

TEST_P(EncoderGradient, AgreesWithDifferencesOnEveryInstructionSet) {
  const Transformer transformer(config, tensors);
  for (const auto& [which, every] : {std::pair{0, kSanitized ? 41 : 3}, {2, kSanitized ? 401 : 23}}) {
    text = which;
    std::vector<Expected> expected;
    int place = 0;
    for (std::int64_t layer = 0; layer <= config.layer_count(); ++layer)
      for (std::int64_t row = 0; row < length(); ++row)
        for (std::int64_t column = 0; column < columns_of_layer(layer); ++column)
          if (place++ % every == 0) expected.push_back({layer, row, column, slope(layer, row, column)});
    for (const std::string& isa : available_isas()) {
      SCOPED_TRACE(isa);
      set_isa(isa);
      expect_close(transformer.gradients(texts, d_out), expected, begin());
    }
    set_isa("");
  }
}

// With the factors that tools/golden/make_gradients.py takes. Errors are root mean squares: the largest of
// 1,824 elements would be chance.
TEST_P(EncoderGradient, IsAsExactAsThatOfPyTorch) {
  const Checkpoint autograd = Checkpoint::open(folder / "gradients.safetensors");
  Tensor factors(DType::f32, d_out.shape());
  for (int place = 0; float& factor : factors.values<float>())
    factor = static_cast<float>(place++ * 37 % 101 - 50) / 32;
  const Transformer transformer(config, tensors);
  for (const std::string& isa : available_isas()) {
    SCOPED_TRACE(isa);
    set_isa(isa);
    const PassGradients found = transformer.gradients(texts, factors);
    for (std::int64_t layer = 0; layer <= config.layer_count(); ++layer) {
      const std::string name = layer == 0 ? "embeddings" : "attended." + std::to_string(layer);
      const double theirs = values_of(autograd.tensor("error." + name))[0];
      const std::vector<double> expected = values_of(autograd.tensor(name));
      double squares = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        squares += std::pow(gradient_of(found, layer)[i] - expected[i], 2);
      const double ours = std::sqrt(squares / static_cast<double>(expected.size()));
      EXPECT_LE(ours, 1.5 * theirs) << name;
    }
  }
  set_isa("");
}

TEST_P(EncoderGradient, OfALayerInTheMiddle) {
  const Transformer transformer(config, tensors);
  std::vector<Expected> expected;
  int place = 0;
  for (std::int64_t layer = 0; layer <= 1; ++layer)
    for (std::int64_t row = 0; row < length(); ++row)
      for (std::int64_t column = 0; column < columns_of_layer(layer); ++column)
        if (place++ % (kSanitized ? 45 : 9) == 0)
          expected.push_back({layer, row, column, slope(layer, row, column, 1)});
  const PassGradients found = transformer.gradients(texts, d_out, 1);
  EXPECT_EQ(found.attended.size(), 1U);
  expect_close(found, expected, begin());
}

// What the lens computes from them.
TEST_P(EncoderGradient, GivesThatOfEveryWeight) {
  const Transformer transformer(config, tensors);
  const PassGradients found = transformer.gradients(texts, d_out);
  const std::int64_t size = config.layers.front().attention.head_size;
  text = 0;
  transformer.forward(texts, [&](const LayerMoment& moment) {
    if (moment.layer == 0) return;
    const float* const d_attended = gradient_of(found, moment.layer);
    for (std::int64_t head = 0; head < config.heads(); head += 3) {
      for (std::int64_t i = 0; i < length(); i += kSanitized ? 6 : 2) {
        for (std::int64_t j = 0; j < length(); j += kSanitized ? 5 : 1) {
          double product = 0;
          for (std::int64_t d = 0; d < size; ++d) {
            product += static_cast<double>(d_attended[(i * config.heads() + head) * size + d]) *
                       moment.v.data<float>()[j * moment.v.stride(0) + head * moment.v.stride(1) + d];
          }
          const auto at = [&](double step) {
            return loss({.weights = [&](std::int64_t layer, std::int64_t of, Matrix& weights) {
              if (layer == moment.layer && of == head) weights.at(i, j) += step;
            }});
          };
          ASSERT_NEAR(product, (at(1e-4) - at(-1e-4)) / 2e-4, 1e-4) << head << ' ' << i << ' ' << j;
        }
      }
    }
  });
}

TEST_P(EncoderGradient, AnyFloatingTypeAndStridesOfTheGradient) {
  const Transformer transformer(config, tensors);
  const Tensor wide = copy_of(d_out.view().transposed(0, 1), DType::f64);
  const PassGradients expected = transformer.gradients(texts, d_out),
                      found = transformer.gradients(texts, wide.view().transposed(0, 1));
  EXPECT_TRUE(same_bits(found.embeddings, expected.embeddings));
  for (std::size_t layer = 0; layer < 2; ++layer)
    EXPECT_TRUE(same_bits(found.attended[layer], expected.attended[layer]));
}

TEST_P(EncoderGradient, OfNothingAndOfNoLayers) {
  const Transformer transformer(config, tensors);
  const PassGradients none = transformer.gradients(texts, d_out, 0);
  EXPECT_TRUE(same_bits(none.embeddings, d_out));
  EXPECT_TRUE(none.attended.empty());
  const PassGradients empty =
      transformer.gradients(TokenBatch{}, Tensor(DType::f32, {0, config.hidden_size}));
  EXPECT_EQ(empty.attended.at(1).shape(),
            (Dims{0, config.heads(), config.layers.front().attention.head_size}));
  const std::string layers = std::to_string(config.layer_count()), size = std::to_string(config.hidden_size);
  EXPECT_REFUSES(transformer.gradients(texts, d_out, 5),
                 "[model] layer 5 was asked for, but the layers are 0 to " + layers);
  EXPECT_REFUSES(transformer.gradients(texts, d_out.view().slice(0, 1, 57)),
                 "[model] d_out has shape (56, " + size + "), expected (57, " + size + ")");
  EXPECT_REFUSES(transformer.gradients(texts, {}), "[model] d_out is not given");
}

class GradientFamilies : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(EncoderGradient, GradientFamilies, testing::ValuesIn(names_of_models()),
                         [](const auto& family) { return family.param; });

// With everything that layers can have, against differences of the transformer in float64.
TEST_P(GradientFamilies, AgreesWithDifferences) {
  const ModelDescription config = description_named(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Transformer transformer(config, checkpoint.source());
  const Float64Transformer judge(config, checkpoint.source());
  const std::vector<std::int32_t> text{3, 1, 4, 1, 5, 9, 2};
  TokenBatch batch;
  batch.add(text);
  const Tensor d_out = random_normal({7, config.hidden_size}, DType::f32, 3);
  const PassGradients found = transformer.gradients(batch, d_out);
  const auto loss = [&](const PassHooks& hooks) {
    const Matrix out = judge.forward(text, hooks);
    double sum = 0;
    for (std::size_t i = 0; i < out.values.size(); ++i)
      sum += out.values[i] * static_cast<double>(d_out.values<float>()[i]);
    return sum;
  };
  std::vector<Expected> expected;
  std::int64_t place = 0;
  for (std::int64_t layer = 0; layer <= 2; ++layer) {
    const std::int64_t columns =
        layer == 0 ? config.hidden_size : found.attended[static_cast<std::size_t>(layer) - 1].count() / 7;
    for (std::int64_t row = 0; row < 7; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        if (place++ % (kSanitized ? 97 : 13) != 0) continue;
        const auto at = [&](double step) {
          return loss({.embeddings =
                           [&](Matrix& x) {
                             if (layer == 0) x.at(row, column) += step;
                           },
                       .attended =
                           [&](std::int64_t of, Matrix& x) {
                             if (of == layer) x.at(row, column) += step;
                           }});
        };
        const double slope = (at(1e-4) - at(-1e-4)) / 2e-4;
        const double value = gradient_of(found, layer)[row * columns + column];
        EXPECT_NEAR(value, slope, 2e-4 * std::abs(slope) + 2e-5) << layer << ' ' << row << ' ' << column;
      }
    }
  }
}

bool same_gradients(const PassGradients& part, const PassGradients& all, std::int64_t begin,
                    std::int64_t end) {
  bool same = same_bits(part.embeddings, all.embeddings.view().slice(0, begin, end));
  for (std::size_t layer = 0; layer < all.attended.size(); ++layer)
    same = same && same_bits(part.attended[layer], all.attended[layer].view().slice(0, begin, end));
  return same;
}

TEST_P(GradientFamilies, ATextHasTheSameBitsAloneInABatchAndOnAnyNumberOfThreads) {
  const ModelDescription config = description_named(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Transformer transformer(config, checkpoint.source());
  TokenBatch batch;
  for (const std::int32_t length : {5, 1, 68, 0, 17, 33}) {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < length; ++i) ids.push_back((i * 7 + length) % 50);
    batch.add(ids);
  }
  const Tensor d_out = random_normal({batch.tokens(), config.hidden_size}, DType::f32, 3);
  set_threads(1);
  const PassGradients together = transformer.gradients(batch, d_out);
  for (const int count : {2, 3, 8}) {
    set_threads(count);
    EXPECT_TRUE(same_gradients(transformer.gradients(batch, d_out), together, 0, batch.tokens())) << count;
  }
  set_threads(0);
  for (std::int64_t text = 0; text < batch.texts(); ++text) {
    const auto at = static_cast<std::size_t>(text);
    TokenBatch alone;
    alone.add(text_of(batch, text));
    EXPECT_TRUE(same_gradients(
        transformer.gradients(alone, d_out.view().slice(0, batch.ends[at], batch.ends[at + 1])), together,
        batch.ends[at], batch.ends[at + 1]))
        << text;
  }
}

// The transposed matrices are made on first use, and here several threads may be first.
TEST_P(GradientFamilies, SeveralThreadsMayAskAtOnce) {
  const ModelDescription config = description_named(GetParam());
  const RandomCheckpoint checkpoint(config);
  const Transformer transformer(config, checkpoint.source()), other(config, checkpoint.source());
  TokenBatch batch;
  batch.add(std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2, 6});
  const Tensor d_out = random_normal({8, config.hidden_size}, DType::f32, 3);
  std::vector<PassGradients> found(3);
  {
    std::vector<std::jthread> threads;
    for (PassGradients& one : found)
      threads.emplace_back(
          [&transformer, &batch, &d_out, &one] { one = transformer.gradients(batch, d_out); });
  }
  const PassGradients expected = other.gradients(batch, d_out);
  for (const PassGradients& one : found) EXPECT_TRUE(same_gradients(one, expected, 0, 8));
}

}  // namespace
}  // namespace attend
