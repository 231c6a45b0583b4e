// The coins of dropout: as many heads as asked for, and none that knows of another.
#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace attend {
namespace {

constexpr std::int64_t kSide = 512;
constexpr double kElements = kSide * kSide;
constexpr double kFar = 5;  // standard deviations: one run in two million

// Correlation of two tables, in standard deviations of what independent coins would show.
double correlation(double p, const std::function<bool(std::int64_t, std::int64_t)>& a,
                   const std::function<bool(std::int64_t, std::int64_t)>& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < kSide; ++i) {
    for (std::int64_t j = 0; j < kSide; ++j) {
      sum += (a(i, j) ? p : p - 1) * (b(i, j) ? p : p - 1);  // mean 0 each
    }
  }
  return std::abs(sum) / (p * (1 - p) * std::sqrt(kElements));
}

TEST(Dropout, NothingIsDroppedAtZero) {
  const DropoutStream none(0, 1, 2, 3), never;
  EXPECT_FALSE(none.drops_any());
  EXPECT_FALSE(never.drops_any());
  for (std::int64_t i = 0; i < 1000; ++i) EXPECT_TRUE(none.keeps(i, 7 * i) && never.keeps(i, i));
}

TEST(Dropout, TheRateIsTheOneAskedFor) {
  for (const double p : {0.001, 0.1, 0.5, 0.9, 0.999}) {
    for (const std::uint64_t seed : {0u, 1u, 77u}) {
      const DropoutStream stream(p, seed, 0, 0);
      double kept = 0;
      for (std::int64_t i = 0; i < kSide; ++i) {
        for (std::int64_t j = 0; j < kSide; ++j) kept += stream.keeps(i, j) ? 1 : 0;
      }
      EXPECT_LE(std::abs(kept - (1 - p) * kElements), kFar * std::sqrt(p * (1 - p) * kElements)) << p;
    }
  }
}

// The kept elements of a row are binomial, so their squared distance from the mean adds up to chi square.
TEST(Dropout, RowsAndColumnsVaryAsIndependentCoinsDo) {
  const double p = 0.25;
  const DropoutStream stream(p, 3, 1, 2);
  const auto chi_square = [&](bool rows) {
    double total = 0;
    for (std::int64_t a = 0; a < kSide; ++a) {
      double kept = 0;
      for (std::int64_t b = 0; b < kSide; ++b)
        kept += (rows ? stream.keeps(a, b) : stream.keeps(b, a)) ? 1 : 0;
      total += std::pow(kept - (1 - p) * kSide, 2) / (p * (1 - p) * kSide);
    }
    return (total - kSide) / std::sqrt(2.0 * kSide);
  };
  EXPECT_LE(std::abs(chi_square(true)), kFar);
  EXPECT_LE(std::abs(chi_square(false)), kFar);
}

TEST(Dropout, NeighboursAreIndependent) {
  for (const double p : {0.1, 0.5}) {
    const DropoutStream stream(p, 5, 0, 0);
    const auto at = [&](std::int64_t down, std::int64_t right) {
      return [&stream, down, right](std::int64_t i, std::int64_t j) {
        return stream.keeps(i + down, j + right);
      };
    };
    for (const std::int64_t step : {1, 2, 16, 64, 256}) {
      EXPECT_LE(correlation(p, at(0, 0), at(0, step)), kFar) << p << " " << step;
      EXPECT_LE(correlation(p, at(0, 0), at(step, 0)), kFar) << p << " " << step;
      EXPECT_LE(correlation(p, at(0, 0), at(step, step)), kFar) << p << " " << step;
    }
    EXPECT_LE(correlation(p, at(0, 0),
                          [&](std::int64_t i, std::int64_t j) { return i != j && stream.keeps(j, i); }),
              2 * kFar);  // the diagonal is no pair: 512 of them count as dropped
  }
}

// Row and column bits meet in one exclusive or, so the corners of a rectangle are where a weak mix would
// show.
TEST(Dropout, TheCornersOfARectangleAreIndependent) {
  const DropoutStream stream(0.5, 9, 0, 0);
  for (const std::int64_t step : {1, 3, 32}) {
    double sum = 0;
    for (std::int64_t i = 0; i < kSide; ++i) {
      for (std::int64_t j = 0; j < kSide; ++j) {
        const int kept = stream.keeps(i, j) + stream.keeps(i + step, j) + stream.keeps(i, j + step) +
                         stream.keeps(i + step, j + step);
        sum += kept % 2 == 0 ? 1 : -1;
      }
    }
    EXPECT_LE(std::abs(sum), kFar * 2 * std::sqrt(kElements)) << step;  // rectangles share corners
  }
}

TEST(Dropout, NeighbouringSeedsSequencesAndHeadsAreIndependent) {
  for (const double p : {0.1, 0.5}) {
    const auto table = [p](std::uint64_t seed, std::uint64_t sequence, std::uint64_t head) {
      const DropoutStream stream(p, seed, sequence, head);
      return [stream](std::int64_t i, std::int64_t j) { return stream.keeps(i, j); };
    };
    for (const std::uint64_t far : {1u, 2u, 64u}) {
      EXPECT_LE(correlation(p, table(7, 0, 0), table(7 + far, 0, 0)), kFar);
      EXPECT_LE(correlation(p, table(7, 0, 0), table(7, far, 0)), kFar);
      EXPECT_LE(correlation(p, table(7, 0, 0), table(7, 0, far)), kFar);
      EXPECT_LE(correlation(p, table(7, far, 0), table(7, 0, far)), kFar);
      EXPECT_LE(correlation(p, table(far, 7, 0), table(7, far, 0)), kFar);
    }
  }
}

}  // namespace
}  // namespace attend
