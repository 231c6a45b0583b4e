#include <attend/pooling.h>

#include <gtest/gtest.h>

#include <cmath>

#include "support/compare.h"
#include "support/refuses.h"

namespace attend {
namespace {

const Tensor kVectors = Tensor::from<float>({4, 2}, {1, -1, 3, 5, 2, 0, 4, 8});
const std::vector<std::int64_t> kEnds{0, 1, 1, 4};

Tensor pooled(const std::vector<Pooling>& poolings) {
  Tensor out(DType::f32, {3, 2 * static_cast<std::int64_t>(poolings.size())});
  pool(kVectors, kEnds, poolings, out);
  return out;
}

TEST(Pooling, KnownValues) {
  const auto expect = [](Pooling pooling, float a, float b) {
    EXPECT_TRUE(same_bits(pooled({pooling}), Tensor::from<float>({3, 2}, {1, -1, 0, 0, a, b})))
        << name_of(pooling);
  };
  expect(Pooling::cls, 3, 5);
  expect(Pooling::last_token, 4, 8);
  expect(Pooling::max, 4, 8);
  expect(Pooling::mean, 3, 13.0F / 3);
  expect(Pooling::mean_sqrt_length, static_cast<float>(9 / std::sqrt(3.0)),
         static_cast<float>(13 / std::sqrt(3.0)));
  expect(Pooling::weighted_mean, static_cast<float>((3 + 4 + 12) / 6.0),
         static_cast<float>((5 + 0 + 24) / 6.0));
}

TEST(Pooling, NamesAreReadAsTheyAreWritten) {
  for (const Pooling pooling : {Pooling::cls, Pooling::max, Pooling::mean, Pooling::mean_sqrt_length,
                                Pooling::weighted_mean, Pooling::last_token}) {
    EXPECT_EQ(pooling_named(name_of(pooling)), pooling);
  }
  EXPECT_FALSE(pooling_named("median"));
}

TEST(Pooling, SeveralAreConcatenated) {
  EXPECT_TRUE(same_bits(pooled({Pooling::mean, Pooling::cls}),
                        Tensor::from<float>({3, 4}, {1, -1, 1, -1, 0, 0, 0, 0, 3, 13.0F / 3, 3, 5})));
}

TEST(Pooling, NormalizedRowsHaveLengthOne) {
  Tensor x = Tensor::from<float>({3, 2}, {3, 4, 0, 0, -1e30F, 0});
  normalize_rows(x, x);
  EXPECT_TRUE(same_bits(x, Tensor::from<float>({3, 2}, {0.6F, 0.8F, 0, 0, -1, 0})));
}

TEST(Pooling, Refuses) {
  Tensor out(DType::f32, {3, 2});
  EXPECT_REFUSES(pool(kVectors, kEnds, {}, out), "[pool] no pooling is given");
  const std::vector<std::int64_t> short_ends{0, 3}, falling{0, 3, 1, 4};
  const std::vector<Pooling> mean{Pooling::mean};
  EXPECT_REFUSES(pool(kVectors, short_ends, mean, out), "[pool] ends must start at 0 and end at the 4 rows");
  EXPECT_REFUSES(pool(kVectors, falling, mean, out), "[pool] ends must not decrease");
}

// Differences of pool() itself: it is linear except for the maximum, and no step here changes which one that
// is.
TEST(Pooling, GradientsAreItsSlopes) {
  const std::vector<std::int64_t> ends = {0, 3, 3, 8};
  Tensor vectors(DType::f64, {8, 4});
  for (std::size_t i = 0; i < 32; ++i) vectors.values<double>()[i] = std::sin(static_cast<double>(3 * i + 1));
  const std::vector<Pooling> poolings = {Pooling::cls,           Pooling::max,
                                         Pooling::mean,          Pooling::mean_sqrt_length,
                                         Pooling::weighted_mean, Pooling::last_token};
  Tensor d_out(DType::f64, {3, 24});
  for (std::size_t i = 0; i < 72; ++i) d_out.values<double>()[i] = std::cos(static_cast<double>(i));
  Tensor d_vectors(DType::f64, {8, 4});
  pool_backward(vectors, ends, poolings, d_out, d_vectors);
  const auto loss = [&] {
    Tensor out(DType::f64, {3, 24});
    pool(vectors, ends, poolings, out);
    double sum = 0;
    for (std::size_t i = 0; i < 72; ++i) sum += out.values<double>()[i] * d_out.values<double>()[i];
    return sum;
  };
  for (std::size_t i = 0; i < 32; ++i) {
    const double step = 1e-4, kept = vectors.values<double>()[i];
    vectors.values<double>()[i] = kept + step;
    const double above = loss();
    vectors.values<double>()[i] = kept - step;
    const double below = loss();
    vectors.values<double>()[i] = kept;
    EXPECT_NEAR(d_vectors.values<double>()[i], (above - below) / (2 * step), 1e-9) << i;
  }
  Tensor wrong(DType::f64, {3, 4});
  EXPECT_THROW(pool_backward(vectors, ends, poolings, wrong, d_vectors), std::invalid_argument);
}

}  // namespace
}  // namespace attend
