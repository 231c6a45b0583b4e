#include "train/optimiser.h"

#include <attend/threads.h>

#include <cmath>

#include "base/random.h"
#include "support/compare.h"
#include "support/each_isa.h"

namespace attend::train {
namespace {

Parameters some(DType dtype) {
  Parameters parameters;
  parameters.add("matrix", {130, 150}, 0, 1);
  parameters.add("bias", {7}, 1, 0.5);
  parameters.allocate(dtype);
  parameters.initialise(3);
  return parameters;
}

template <class T>
void set_gradients(Parameters& parameters, std::uint64_t seed) {
  for (int i = 0; i < parameters.count(); ++i) {
    const TensorView gradient = parameters.gradient(i);
    for (std::int64_t j = 0; j < gradient.count(); ++j) {
      gradient.data<T>()[j] = static_cast<T>(
          static_cast<float>(normal_at(seed + static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j))));
    }
  }
}

TEST(Parameters, LieSideBySideUnderTheirNames) {
  Parameters parameters = some(DType::f32);
  EXPECT_EQ(parameters.find("bias"), 1);
  EXPECT_EQ(parameters.find("nobody"), -1);
  EXPECT_EQ(parameters.numbers(), 130 * 150 + 7);
  EXPECT_EQ(parameters.value(1).shape(), (Dims{7}));
  EXPECT_FALSE(parameters[1].decays);
  EXPECT_TRUE(parameters[0].decays);
  Parameters again = some(DType::f32);
  EXPECT_TRUE(same_bits(again.values(), parameters.values()));
}

// By hand: the first step of AdamW goes by the rate, whatever the gradient's size.
TEST(AdamW, FirstStepByHand) {
  Parameters parameters;
  parameters.add("matrix", {1, 2}, 1, 0);
  parameters.allocate(DType::f64);
  parameters.initialise(0);
  parameters.gradient(0).data<double>()[0] = 5;
  parameters.gradient(0).data<double>()[1] = -0.001;
  adamw_step(parameters, {.epsilon = 0, .decay = 0.1, .clip = 0}, 0.01, 1, gradient_norm(parameters));
  EXPECT_NEAR(parameters.value(0).data<double>()[0], 1 - 0.01 * 0.1 - 0.01, 1e-12);
  EXPECT_NEAR(parameters.value(0).data<double>()[1], 1 - 0.01 * 0.1 + 0.01, 1e-12);
}

class AdamWOnEachIsa : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, AdamWOnEachIsa, testing::ValuesIn(available_isas()), isa_name);

TEST_P(AdamWOnEachIsa, AgreesWithFloat64) {
  Parameters narrow = some(DType::f32), wide = some(DType::f64);
  copy(narrow.values(), wide.values());
  for (std::int64_t step = 1; step <= 10; ++step) {
    set_gradients<float>(narrow, static_cast<std::uint64_t>(step) * 10);
    set_gradients<double>(wide, static_cast<std::uint64_t>(step) * 10);
    const double norm = gradient_norm(wide);
    EXPECT_NEAR(gradient_norm(narrow), norm, 1e-9 * norm);
    adamw_step(narrow, {}, 0.01, step, norm);
    adamw_step(wide, {}, 0.01, step, norm);
  }
  EXPECT_LT(max_abs_difference(narrow.values(), wide.values()), 5e-6);
}

TEST(AdamW, ClipsByTheNormOfAllGradients) {
  Parameters clipped = some(DType::f64), scaled = some(DType::f64);
  set_gradients<double>(clipped, 1);
  set_gradients<double>(scaled, 1);
  const double norm = gradient_norm(clipped);
  for (double& g :
       std::span(scaled.gradients().data<double>(), static_cast<std::size_t>(scaled.gradients().count()))) {
    g *= 2 / (norm + 1e-6);
  }
  adamw_step(clipped, {.clip = 2}, 0.01, 1, norm);
  adamw_step(scaled, {.clip = 0}, 0.01, 1, 0);
  EXPECT_LT(max_abs_difference(clipped.values(), scaled.values()), 1e-12);
  EXPECT_LT(max_abs_difference(clipped.first_moments(), scaled.first_moments()), 1e-15);
}

TEST(AdamW, SameBitsWithAnyThreads) {
  Tensor expected;
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    Parameters parameters = some(DType::f32);
    set_gradients<float>(parameters, 1);
    adamw_step(parameters, {}, 0.01, 1, gradient_norm(parameters));
    if (count == 1) expected = copy_of(parameters.values());
    EXPECT_TRUE(same_bits(parameters.values(), expected));
  }
  set_threads(0);
}

TEST(Schedule, WarmsUpAndCoolsDown) {
  const Schedule schedule{.peak = 2, .floor = 0.1, .warmup = 10, .steps = 110};
  EXPECT_DOUBLE_EQ(schedule.rate(1), 0.2);
  EXPECT_DOUBLE_EQ(schedule.rate(10), 2);
  EXPECT_NEAR(schedule.rate(60), 1.1, 1e-12);  // halfway, halfway down
  EXPECT_NEAR(schedule.rate(110), 0.2, 1e-12);
  EXPECT_NEAR(schedule.rate(1000), 0.2, 1e-12);
  EXPECT_DOUBLE_EQ((Schedule{.peak = 1, .floor = 1, .warmup = 0, .steps = 10}.rate(5)), 1);
}

}  // namespace
}  // namespace attend::train
