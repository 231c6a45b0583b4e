// Models that learn in bf16, on every instruction set that multiplies it in a way of its own.
#include <attend/isa.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "support/compare.h"
#include "support/refuses.h"
#include "support/sanitized.h"
#include "train/model.h"
#include "train/optimiser.h"
#include "train/small_models.h"

namespace attend::train {
namespace {

constexpr std::uint64_t kDropsSeed = 17;

// Sequences long enough for attention in bf16, which up to 8 queries is f32.
std::vector<NamedShape> longer_models() {
  std::vector<NamedShape> list = small_models();
  for (NamedShape& model : list) {
    model.shape.length = 19;
    model.shape.hidden = 24;
    model.shape.inner = 40;
  }
  return list;
}

using IsaAndModel = std::tuple<std::string, NamedShape>;

class Bf16Training : public testing::TestWithParam<IsaAndModel> {
 protected:
  void SetUp() override {
    set_isa(std::get<0>(GetParam()));
    shape_ = std::get<1>(GetParam()).shape;
    batch_ = random_batch(shape_, 3, 1);
  }
  void TearDown() override {
    set_threads(0);
    set_isa("");
  }
  // Whether it differs from f32 at all.
  static bool multiplies_bf16() { return isa(Precision::bf16) != isa(); }

  ModelShape in(Precision precision) const {
    ModelShape shape = shape_;
    shape.precision = precision;
    return shape;
  }
  Tensor gradients(const ModelShape& shape, DType dtype = DType::f32) const {
    SmallModel model(shape, 3, dtype);
    model.parameters().initialise(5);
    model.learn(batch_, 0.25, kDropsSeed);
    return copy_of(model.parameters().gradients(), DType::f64);
  }

  ModelShape shape_;
  Batch batch_;
};
INSTANTIATE_TEST_SUITE_P(Models, Bf16Training,
                         testing::Combine(testing::ValuesIn(available_isas(Precision::bf16)),
                                          testing::ValuesIn(longer_models())),
                         [](const auto& one) {
                           return std::get<0>(one.param) + "_" + std::get<1>(one.param).name;
                         });

// Of each parameter: the length of the error over that of the gradient itself. A rounded number is off by
// 2^-8 at most, and a gradient goes through some ten products of two of them.
TEST_P(Bf16Training, GradientsAreThoseOfFloat64WithinTheRoundingOfTheirFactors) {
  const Tensor exact = gradients(shape_, DType::f64), found = gradients(in(Precision::bf16));
  if (!multiplies_bf16()) {
    EXPECT_TRUE(same_bits(found, gradients(shape_)));  // then it multiplies in f32
    return;
  }
  SmallModel named(shape_, 3);
  std::vector<double> errors, sizes;
  double wrong = 0, whole = 0;
  for (int i = 0; i < named.parameters().count(); ++i) {
    const Parameter& parameter = named.parameters()[i];
    double error = 0, size = 0;
    for (std::int64_t j = 0; j < element_count(parameter.shape); ++j) {
      const auto at = static_cast<std::size_t>(parameter.offset + j);
      error += std::pow(found.values<double>()[at] - exact.values<double>()[at], 2);
      size += std::pow(exact.values<double>()[at], 2);
    }
    errors.push_back(std::sqrt(error));
    sizes.push_back(std::sqrt(size));
    wrong += error;
    whole += size;
  }
  EXPECT_LT(std::sqrt(wrong / whole), 0x1p-5);
  EXPECT_GT(std::sqrt(wrong / whole), 1e-4);  // f32 is off by less than 1e-6: it was bf16
  // A gradient that is 0 but for rounding (a shift of all keys changes no weight) has the error of the
  // others.
  for (std::size_t i = 0; i < errors.size(); ++i) {
    EXPECT_LT(errors[i], 0x1p-4 * sizes[i] + 0x1p-10 * std::sqrt(whole))
        << named.parameters()[static_cast<int>(i)].name;
  }
}

TEST_P(Bf16Training, SameBitsWithAnyThreadsAndWhenRecomputed) {
  const ModelShape shape = in(Precision::bf16);
  set_threads(1);
  const Tensor expected = gradients(shape);
  for (const int count : {2, 3}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(gradients(shape), expected)) << count;
  }
  if (shape.mixer == MixerKind::gru) return;  // a layer of GRUs is not run again
  ModelShape other = shape;
  other.recompute = !shape.recompute;
  EXPECT_TRUE(same_bits(gradients(other), expected));
}

// The loss after some steps over the same batch with the same dropout, from the same start.
double loss_after_steps(const ModelShape& shape, const Batch& batch) {
  SmallModel model(shape, 3);
  model.parameters().initialise(5);
  for (std::int64_t step = 1; step <= 20; ++step) {
    model.parameters().clear_gradients();
    model.learn(batch, 1.0 / 40, kDropsSeed);
    adamw_step(model.parameters(), {}, 3e-3, step, gradient_norm(model.parameters()));
  }
  return model.learn(batch, 1, kDropsSeed).loss;
}

TEST_P(Bf16Training, LearnsWhatF32Learns) {
  if (kSanitized || !multiplies_bf16()) return;  // the same bits
  SmallModel untrained(shape_, 3);
  untrained.parameters().initialise(5);
  const double before = untrained.learn(batch_, 1, kDropsSeed).loss;
  const double exact = loss_after_steps(shape_, batch_),
               found = loss_after_steps(in(Precision::bf16), batch_);
  EXPECT_LT(exact, 0.95 * before);
  EXPECT_NEAR(found, exact, 0.01 * before);
}

TEST(Bf16Training, Refuses) {
  ModelShape shape = tiny(ModelKind::decoder);
  shape.precision = Precision::bf16;
  EXPECT_REFUSES(SmallModel(shape, 1, DType::f64),
                 "[train] a model in float64 multiplies in float64, not in bf16");
  shape.precision = Precision::int8;
  EXPECT_REFUSES(SmallModel(shape), "[train] a model learns in f32 or bf16, not in int8");
}

}  // namespace
}  // namespace attend::train
