#include "kernels/gelu/gelu.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/gelu/gelu_reference.h"
#include "support/each_isa.h"

namespace attend::kernels {
namespace {

class GeluKernel : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, GeluKernel, testing::ValuesIn(available_isas()), isa_name);

constexpr Activation kForms[] = {Activation::gelu, Activation::gelu_tanh};

std::vector<float> gelu_of(const std::vector<float>& x, Activation form) {
  std::vector<float> out(x.size());
  gelu_row(x.data(), static_cast<std::int64_t>(x.size()), form, out.data());
  return out;
}

// Every f32 of some spacing from tiny to large, both signs.
std::vector<float> sweep() {
  std::vector<float> x;
  for (std::uint32_t bits = 0; bits < std::bit_cast<std::uint32_t>(1e30f); bits += 20'011) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  return x;
}

TEST_P(GeluKernel, AgreesWithTheReferenceEverywhere) {
  const std::vector<float> x = sweep();
  for (const Activation form : kForms) {
    const std::vector<float> out = gelu_of(x, form);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = activation_reference(static_cast<double>(x[i]), form);
      // 2e-7 of Phi(x), 3 ulp of f32; relative, too, for positive x; and the spacing of the smallest numbers.
      const double size = std::max(std::abs(expected), std::min(1.0, std::abs(static_cast<double>(x[i]))));
      ASSERT_NEAR(out[i], expected, 2e-7 * size + 0x1p-149) << x[i];
    }
  }
}

// The left tail keeps its digits: 1 + erf would have none left at -5.5.
TEST_P(GeluKernel, TheLeftTailIsRelativelyExact) {
  for (const Activation form : kForms) {
    for (float x = -0.5f; x > -5.9f; x -= 0.01f) {
      const double expected = activation_reference(static_cast<double>(x), form);
      ASSERT_NEAR(gelu_of({x}, form)[0] / expected, 1.0, 4e-4) << x;
    }
  }
}

TEST_P(GeluKernel, EveryLengthAndInPlace) {
  for (const Activation form : kForms) {
    std::vector<float> x(70);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * static_cast<float>(i) - 3;
    const std::vector<float> whole = gelu_of(x, form);
    for (std::size_t n = 0; n <= x.size(); ++n) {
      std::vector<float> part = x;
      gelu_row(part.data(), static_cast<std::int64_t>(n), form, part.data());
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(part[i], i < n ? whole[i] : x[i]) << n << ' ' << i;
    }
  }
}

TEST_P(GeluKernel, Edges) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Activation form : kForms) {
    EXPECT_EQ(gelu_of({0.0f, 100.0f, -100.0f, 3e38f, -3e38f, kInfinity}, form),
              (std::vector<float>{0, 100, 0, 3e38f, 0, kInfinity}));
    EXPECT_TRUE(std::isnan(gelu_of({NAN}, form)[0]));
    EXPECT_TRUE(std::isnan(gelu_of({-kInfinity}, form)[0]));
    EXPECT_TRUE(std::isnan(activation_reference(-HUGE_VAL, form)));
  }
}

std::vector<float> slopes_of(const std::vector<float>& x, Activation form) {
  std::vector<float> slopes(x.size(), 1.0f);
  gelu_row_backward(x.data(), slopes.data(), static_cast<std::int64_t>(x.size()), form, slopes.data());
  return slopes;
}

TEST_P(GeluKernel, TheSlopeAgreesWithTheReferenceEverywhere) {
  const std::vector<float> x = sweep();
  for (const Activation form : kForms) {
    const std::vector<float> slopes = slopes_of(x, form);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(slopes[i], activation_slope_reference(static_cast<double>(x[i]), form), 4e-7) << x[i];
  }
}

// Far from its root, at -0.75, the slope of the left side is exact relative to itself.
TEST_P(GeluKernel, TheLeftTailOfTheSlopeIsRelativelyExact) {
  for (const Activation form : kForms) {
    for (float x = -1.5f; x > -5.5f; x -= 0.01f) {
      const double expected = activation_slope_reference(static_cast<double>(x), form);
      ASSERT_NEAR(slopes_of({x}, form)[0] / expected, 1.0, 1e-4) << x;
    }
  }
}

TEST_P(GeluKernel, GradientsOfEveryLengthAndInPlace) {
  for (const Activation form : kForms) {
    std::vector<float> x(70), d_out(70), whole(70);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = 0.1f * static_cast<float>(i) - 3;
      d_out[i] = 1 + 0.3f * static_cast<float>(i % 7);
    }
    gelu_row_backward(x.data(), d_out.data(), 70, form, whole.data());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(whole[i], d_out[i] * activation_slope_reference(static_cast<double>(x[i]), form), 2e-6);
    for (std::size_t n = 0; n <= x.size(); ++n) {
      std::vector<float> over_x = x, over_d = d_out;
      gelu_row_backward(over_x.data(), d_out.data(), static_cast<std::int64_t>(n), form, over_x.data());
      gelu_row_backward(x.data(), over_d.data(), static_cast<std::int64_t>(n), form, over_d.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(over_x[i], i < n ? whole[i] : x[i]) << n << ' ' << i;
        ASSERT_EQ(over_d[i], i < n ? whole[i] : d_out[i]) << n << ' ' << i;
      }
    }
  }
}

TEST_P(GeluKernel, EdgesOfTheSlope) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Activation form : kForms) {
    EXPECT_EQ(slopes_of({0.0f, 100.0f, -100.0f, 3e38f, -3e38f, kInfinity, -kInfinity}, form),
              (std::vector<float>{0.5f, 1, 0, 1, 0, 1, 0}));
    EXPECT_TRUE(std::isnan(slopes_of({NAN}, form)[0]));
    EXPECT_EQ(activation_slope_reference(HUGE_VAL, form), 1);
    EXPECT_EQ(activation_slope_reference(-HUGE_VAL, form), 0);
    EXPECT_EQ(activation_slope_reference(1e200, form), 1);
  }
}

TEST(GeluReference, TheSlopeIsTheDerivative) {
  for (const Activation form : {Activation::none, Activation::gelu, Activation::gelu_tanh}) {
    for (double x = -6; x < 6; x += 0.07) {
      const auto at = [&](double steps) { return activation_reference(x + steps * 1e-3, form); };
      const double expected = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / 12e-3;
      ASSERT_NEAR(activation_slope_reference(x, form), expected, 1e-11) << x;
    }
  }
}

// From tables of the normal distribution, and from the formula by hand.
TEST(GeluReference, KnownValues) {
  EXPECT_NEAR(activation_reference(1, Activation::gelu), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(activation_reference(-2, Activation::gelu), -2 * 0.02275013194817921, 1e-15);
  EXPECT_NEAR(activation_reference(1, Activation::gelu_tanh),
              0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * 1.044715)), 1e-15);
  EXPECT_EQ(activation_reference(-3, Activation::none), -3);
}

}  // namespace
}  // namespace attend::kernels
