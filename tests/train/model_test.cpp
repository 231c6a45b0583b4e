#include "train/model.h"

#include <attend/threads.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/compare.h"
#include "support/refuses.h"
#include "support/sanitized.h"
#include "train/small_models.h"

namespace attend::train {
namespace {

constexpr std::uint64_t kSeed = 5, kDropoutSeed = 17;

class EveryModel : public testing::TestWithParam<NamedShape> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EveryModel, testing::ValuesIn(small_models()),
                         [](const auto& one) { return one.param.name; });

void move_away_from_the_start(Parameters& parameters) {
  // Biases of 0 and factors of 1 would hide mistakes that multiply by them.
  const auto shake = [&]<class T>(T) {
    T* const values = parameters.values().template data<T>();
    for (int i = 0; i < parameters.count(); ++i) {
      const Parameter& parameter = parameters[i];
      for (std::int64_t j = 0; j < element_count(parameter.shape); ++j) {
        values[parameter.offset + j] += static_cast<T>(
            static_cast<float>(0.1 * normal_at(99, static_cast<std::uint64_t>(parameter.offset + j))));
      }
    }
  };
  parameters.dtype() == DType::f32 ? shake(float{}) : shake(double{});
}

// The loss with dropout is what learn() returns; its gradient is thrown away.
double loss_of(Model& model, const Batch& batch) { return model.learn(batch, 1, kDropoutSeed).loss; }

// A model in float64 by finite differences (a sample of the elements of each parameter) judges the gradients
// of the same model in f64 and in f32.
TEST_P(EveryModel, GradientsAgreeWithFiniteDifferences) {
  const ModelShape shape = GetParam().shape;
  const Batch batch = random_batch(shape, 3, 1);
  SmallModel wide(shape, 3, DType::f64), narrow(shape, 3);
  for (Model* const model : {&wide, &narrow}) {
    model->parameters().initialise(kSeed);
    move_away_from_the_start(model->parameters());
  }
  copy(narrow.parameters().values(), wide.parameters().values());  // the very same numbers
  constexpr double kWeight = 0.25;
  wide.learn(batch, kWeight, kDropoutSeed);
  narrow.learn(batch, kWeight, kDropoutSeed);
  const Tensor found = copy_of(wide.parameters().gradients());
  const Tensor found_narrow = copy_of(narrow.parameters().gradients(), DType::f64);

  double* const values = wide.parameters().values().data<double>();
  const int samples = kSanitized ? 1 : 4;
  for (int i = 0; i < wide.parameters().count(); ++i) {
    const Parameter& parameter = wide.parameters()[i];
    const std::int64_t size = element_count(parameter.shape);
    double largest = 0;
    for (std::int64_t j = 0; j < size; ++j) {
      const auto at = static_cast<std::size_t>(parameter.offset + j);
      largest = std::max(largest, std::abs(found.values<double>()[at]));
    }
    for (int s = 0; s < samples; ++s) {
      const auto drawn = static_cast<std::int64_t>(random_bits(static_cast<std::uint64_t>(i), s) %
                                                   static_cast<std::uint64_t>(size));
      const auto at = static_cast<std::size_t>(parameter.offset + drawn);
      const double before = values[at];
      const auto loss_at = [&](double steps) {
        values[at] = before + steps * 1e-3;
        return loss_of(wide, batch);
      };
      const double near = loss_at(1) - loss_at(-1), far = loss_at(2) - loss_at(-2);
      values[at] = before;
      const double expected = kWeight * (8 * near - far) / (12 * 1e-3);
      // Relative to the parameter's largest gradient: a tiny element among large ones is a difference of
      // large numbers.
      const double size_of_it = std::max(std::abs(expected), 1e-2 * largest + 1e-7);
      EXPECT_LT(std::abs(found.values<double>()[at] - expected), 1e-6 * size_of_it + 1e-10) << parameter.name;
      EXPECT_LT(std::abs(found_narrow.values<double>()[at] - expected), 1e-4 * size_of_it + 1e-6)
          << parameter.name;
    }
  }
}

TEST_P(EveryModel, SameBitsWithAnyThreads) {
  const ModelShape shape = GetParam().shape;
  const Batch batch = random_batch(shape, 3, 1);
  Tensor expected;
  double loss = 0;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    SmallModel model(shape, 3);
    model.parameters().initialise(kSeed);
    const double found = model.learn(batch, 1, kDropoutSeed).loss;
    if (count == 1) {
      loss = found;
      expected = copy_of(model.parameters().gradients());
    }
    EXPECT_EQ(found, loss);
    EXPECT_TRUE(same_bits(model.parameters().gradients(), expected));
  }
  set_threads(0);
}

// Recomputation saves memory and changes no bit.
TEST_P(EveryModel, RecomputationChangesNothing) {
  ModelShape shape = GetParam().shape;
  if (shape.mixer == MixerKind::gru) GTEST_SKIP() << "a layer of GRUs is not run again";
  const Batch batch = random_batch(shape, 3, 1);
  Tensor gradients[2];
  std::int64_t bytes[2];
  for (const int again : {0, 1}) {
    shape.recompute = again == 1;
    SmallModel model(shape, 3);
    model.parameters().initialise(kSeed);
    model.learn(batch, 1, kDropoutSeed);
    gradients[again] = copy_of(model.parameters().gradients());
    bytes[again] = model.activation_bytes();
  }
  EXPECT_TRUE(same_bits(gradients[0], gradients[1]));
  EXPECT_LT(bytes[1], bytes[0]);
}

// Gradients of two halves of a batch, added, are those of the whole.
TEST_P(EveryModel, GradientsAccumulate) {
  const ModelShape shape = GetParam().shape;
  if (shape.dropout > 0) GTEST_SKIP() << "dropout depends on a sequence's place in its batch";
  const Batch whole = random_batch(shape, 2, 1);
  const auto half = [&](std::int64_t which) {
    const auto cut = [&](const auto& list, std::int64_t size) {
      const auto first = list.begin() + which * size;
      return std::decay_t<decltype(list)>(first, first + size);
    };
    Batch batch{.tokens = {.count = 1, .length = shape.length, .ids = cut(whole.tokens.ids, shape.length)},
                .targets = cut(whole.targets, shape.length)};
    if (!whole.tokens.lengths.empty()) batch.tokens.lengths = cut(whole.tokens.lengths, 1);
    if (whole.source.count > 0) {
      batch.source = {.count = 1,
                      .length = shape.length,
                      .ids = cut(whole.source.ids, shape.length),
                      .lengths = cut(whole.source.lengths, 1)};
    }
    return batch;
  };
  SmallModel together(shape, 2), apart(shape, 2);
  together.parameters().initialise(kSeed);
  apart.parameters().initialise(kSeed);
  const double loss = together.learn(whole, 1, 0).loss;
  EXPECT_NEAR(apart.learn(half(0), 1, 0).loss + apart.learn(half(1), 1, 0).loss, loss, 1e-5);
  EXPECT_LT(max_abs_difference(apart.parameters().gradients(), together.parameters().gradients()), 2e-5);
}

// More rows than are processed together anywhere: the gradient is the sum of those of single sequences.
TEST(Model, ManyRowsAreTheSumOfFew) {
  for (const FeedForwardKind kind : {FeedForwardKind::gelu_tanh, FeedForwardKind::swiglu}) {
    ModelShape shape = tiny(ModelKind::decoder);
    shape.feed_forward = kind;
    constexpr std::int64_t kCount = 420;  // 2100 rows: three pieces of 1024
    const Batch whole = random_batch(shape, kCount, 1);
    SmallModel together(shape, kCount), apart(shape, 60);
    together.parameters().initialise(kSeed);
    apart.parameters().initialise(kSeed);
    const double loss = together.learn(whole, 1.0 / kCount, 0).loss;
    double sum = 0;
    for (std::int64_t first = 0; first < kCount; first += 60) {
      Batch batch{.tokens = {.count = 60, .length = shape.length}};
      const auto from = first * shape.length, to = (first + 60) * shape.length;
      batch.tokens.ids.assign(whole.tokens.ids.begin() + from, whole.tokens.ids.begin() + to);
      batch.targets.assign(whole.targets.begin() + from, whole.targets.begin() + to);
      sum += apart.learn(batch, 1.0 / kCount, 0).loss;
    }
    EXPECT_NEAR(sum, loss, 1e-3);
    EXPECT_LT(max_abs_difference(apart.parameters().gradients(), together.parameters().gradients()), 2e-5);
  }
}

// A loss that is not made of logits: the sum of all vectors, each weighed by its own number.
TEST_P(EveryModel, LearnsFromAnyLossOfItsVectors) {
  ModelShape shape = GetParam().shape;
  shape.guesses = false;
  const Batch batch = random_batch(shape, 3, 1);
  SmallModel model(shape, 3, DType::f64);
  model.parameters().initialise(kSeed);
  move_away_from_the_start(model.parameters());
  const auto loss = [&] {
    double sum = 0;
    model.learn_from_hidden(
        batch,
        [&](ConstTensorView hidden, TensorView d_hidden) {
          EXPECT_EQ(hidden.size(0), batch.tokens.count * batch.tokens.length);
          for (std::int64_t i = 0; i < hidden.count(); ++i) {
            const double factor = normal_at(3, static_cast<std::uint64_t>(i));
            sum += factor * hidden.data<double>()[i];
            EXPECT_EQ(d_hidden.data<double>()[i], 0);
            d_hidden.data<double>()[i] = factor;
          }
        },
        kDropoutSeed);
    return sum;
  };
  loss();
  const Tensor found = copy_of(model.parameters().gradients());
  double* const values = model.parameters().values().data<double>();
  for (int i = 0; i < model.parameters().count(); ++i) {
    const Parameter& parameter = model.parameters()[i];
    const auto at = static_cast<std::size_t>(parameter.offset + element_count(parameter.shape) / 2);
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

TEST(Model, WithoutAnOutputLayerItKeepsNoRoomForLogits) {
  ModelShape shape = tiny(ModelKind::encoder);
  shape.vocabulary = 1000;
  const Batch batch = random_batch(shape, 2, 1);
  SmallModel guessing(shape, 2);
  shape.guesses = false;
  SmallModel model(shape, 2);
  EXPECT_LT(model.activation_bytes(), guessing.activation_bytes());
  for (Model* const each : {&guessing, &model}) each->parameters().initialise(kSeed);
  EXPECT_TRUE(same_bits(model.hidden(batch), guessing.hidden(batch)));
  EXPECT_REFUSES(model.evaluate(batch), "[train] the model has no output layer, so it cannot guess tokens");
  EXPECT_REFUSES(model.logits(batch, 0), "[train] the model has no output layer, so it cannot guess tokens");
}

TEST(Model, EvaluationHasNoDropoutAndLeavesGradientsAlone) {
  ModelShape shape = tiny(ModelKind::decoder);
  shape.dropout = 0.5;
  const Batch batch = random_batch(shape, 2, 1);
  SmallModel model(shape, 2);
  model.parameters().initialise(kSeed);
  const CrossEntropy first = model.evaluate(batch);
  EXPECT_EQ(model.evaluate(batch).loss, first.loss);
  EXPECT_NE(model.learn(batch, 1, 1).loss, first.loss);
  model.parameters().clear_gradients();
  model.evaluate(batch);
  EXPECT_TRUE(
      same_bits(model.parameters().gradients(), Tensor(DType::f32, model.parameters().gradients().shape())));
}

TEST(Model, Refuses) {
  ModelShape shape = tiny(ModelKind::decoder);
  SmallModel model(shape, 2);
  EXPECT_REFUSES(model.evaluate(random_batch(shape, 3, 1)),
                 "[train] a batch has 3 sequences, expected 1 to 2");
  Batch batch = random_batch(shape, 2, 1);
  batch.targets.pop_back();
  EXPECT_REFUSES(model.evaluate(batch), "[train] a batch has 9 targets for 10 tokens");
  const auto with = [&](const auto& change) {
    ModelShape changed = shape;
    change(changed);
    return changed;
  };
  EXPECT_REFUSES(SmallModel(with([](ModelShape& s) { s.heads = 3; })),
                 "[model] hidden is 8, expected a multiple of the 3 heads");
  EXPECT_REFUSES(SmallModel(with([](ModelShape& s) { s.layers = 0; })),
                 "[model] layers is 0, expected a number from 1");
  EXPECT_REFUSES(SmallModel(with([](ModelShape& s) { s.dropout = 1; })),
                 "[train] dropout is 1, expected a number from 0 to below 1");
}

// Heads, norms and the like do not change it; nor can it become an encoder.
TEST(GruModel, HasNothingButItsLayers) {
  ModelShape shape = tiny(ModelKind::decoder);
  shape.mixer = MixerKind::gru;
  SmallModel one(shape);
  shape.heads = 3;
  shape.inner = 77;
  shape.norm_first = false;
  shape.positions = PositionKind::sinusoidal;
  SmallModel other(shape);
  const std::int64_t e = shape.hidden;
  EXPECT_EQ(one.parameters().numbers(), shape.vocabulary * e + shape.layers * (6 * e * e + 6 * e));
  EXPECT_EQ(other.parameters().numbers(), one.parameters().numbers());
  EXPECT_EQ(other.description().positions, PositionKind::none);
  shape.kind = ModelKind::encoder;
  EXPECT_REFUSES(SmallModel(shape), "[model] GRU layers read forwards");
}

}  // namespace
}  // namespace attend::train
