#include <attend/positions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "support/compare.h"
#include "support/finite_difference.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

using RotaryAt = std::vector<std::int64_t>;
constexpr auto kPairings = {RotaryPairing::interleaved, RotaryPairing::halves};

Tensor rotated(ConstTensorView x, const RotaryAt& positions, const Rotary& rotary, bool inverse = false) {
  Tensor out(x.dtype(), x.shape());
  apply_rotary(x, positions, rotary, out, inverse);
  return out;
}

// Element by element from the other formulas: complex multiplication for adjacent pairs (RoFormer), and
// x cos + rotate_half(x) sin with the angles written twice for halves (GPT-NeoX).
TEST(Rotary, BothPairingsFollowTheirPapers) {
  constexpr std::size_t kD = 6, kHalf = kD / 2;
  constexpr double kBase = 50;
  const Tensor x = random_normal({1, kD}, DType::f64, 1);
  const auto in = x.values<double>();
  const auto angle = [](std::size_t i) {
    return 5 * std::exp(-std::log(kBase) * 2 * static_cast<double>(i) / kD);
  };
  Tensor adjacent(DType::f64, {1, kD}), halves(DType::f64, {1, kD});
  for (std::size_t i = 0; i < kHalf; ++i) {
    const auto turned = std::complex(in[2 * i], in[2 * i + 1]) * std::polar(1.0, angle(i));
    adjacent.values<double>()[2 * i] = turned.real();
    adjacent.values<double>()[2 * i + 1] = turned.imag();
  }
  for (std::size_t j = 0; j < kD; ++j) {
    const double rotate_half = j < kHalf ? -in[j + kHalf] : in[j - kHalf];
    const double turn = angle(j % kHalf);
    halves.values<double>()[j] = in[j] * std::cos(turn) + rotate_half * std::sin(turn);
  }
  EXPECT_LT(max_abs_difference(rotated(x, {5}, {kBase, 0, RotaryPairing::interleaved}), adjacent), 1e-14);
  EXPECT_LT(max_abs_difference(rotated(x, {5}, {kBase, 0, RotaryPairing::halves}), halves), 1e-14);
}

TEST(Rotary, ScoresDependOnTheDistanceAlone) {
  const Tensor q = random_normal({1, 16}, DType::f64, 1), k = random_normal({1, 16}, DType::f64, 2);
  for (const RotaryPairing pairing : kPairings) {
    const Rotary rotary{10000, 0, pairing};
    for (const std::int64_t distance : {-9, 0, 1, 40}) {
      const double score = inner_product(rotated(q, {distance}, rotary), rotated(k, {0}, rotary));
      for (const std::int64_t n : {1, 17, 100'000}) {
        const double moved = inner_product(rotated(q, {n + distance}, rotary), rotated(k, {n}, rotary));
        EXPECT_NEAR(moved, score, 1e-9);
      }
    }
    EXPECT_GT(std::abs(inner_product(rotated(q, {1}, rotary), k) - inner_product(q, k)), 1e-3);
  }
}

TEST(Rotary, KeepsTheNorm) {
  const Tensor x = random_normal({1, 64}, DType::f32, 3);
  for (const RotaryPairing pairing : kPairings) {
    const Tensor out = rotated(x, {1234}, {10000, 0, pairing});
    EXPECT_NEAR(inner_product(out, out) / inner_product(x, x), 1, 1e-6);
    EXPECT_TRUE(same_bits(rotated(x, {0}, {10000, 0, pairing}), x));
  }
}

TEST(Rotary, InverseTurnsBack) {
  const RotaryAt positions{0, 3, 100, 8191, -4};
  for (const RotaryPairing pairing : kPairings) {
    const Rotary rotary{10000, 12, pairing};
    const Tensor x = random_normal({2, 3, 5, 16}, DType::f32, 4), wide = copy_of(x, DType::f64);
    const auto there_and_back = [&](ConstTensorView from) {
      return rotated(rotated(from, positions, rotary), positions, rotary, true);
    };
    EXPECT_LT(max_abs_difference(there_and_back(x), x), 1e-6);
    EXPECT_LT(max_abs_difference(there_and_back(wide), wide), 1e-14);
  }
}

TEST(Rotary, InverseIsTheGradient) {
  const RotaryAt positions{2, 9, 30};
  for (const RotaryPairing pairing : kPairings) {
    const Rotary rotary{100, 4, pairing};
    Tensor x = random_normal({3, 6}, DType::f64, 5);
    const Tensor d_out = random_normal({3, 6}, DType::f64, 6);
    const Tensor expected =
        finite_difference(x, [&] { return inner_product(rotated(x, positions, rotary), d_out); });
    EXPECT_LT(max_abs_difference(rotated(d_out, positions, rotary, true), expected), 1e-10);
  }
}

// The leading elements turn as a vector of that size would; the others stay as they are.
TEST(Rotary, PartialDimensions) {
  const RotaryAt positions{1, 2, 3, 4};
  for (const RotaryPairing pairing : kPairings) {
    const Tensor x = random_normal({4, 10}, DType::f32, 7);
    const Tensor out = rotated(x, positions, {10000, 6, pairing});
    const Tensor leading = rotated(x.view().slice(1, 0, 6), positions, {10000, 0, pairing});
    EXPECT_TRUE(same_bits(out.view().slice(1, 0, 6), leading));
    EXPECT_TRUE(same_bits(out.view().slice(1, 6, 10), x.view().slice(1, 6, 10)));
  }
}

TEST(Rotary, AnyTypeAndStridesAlsoInPlace) {
  const RotaryAt positions{5, 6, 7};
  for (const RotaryPairing pairing : kPairings) {
    const Rotary rotary{10000, 0, pairing};
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      Tensor x = random_normal({2, 3, 4, 8}, dtype, 8);  // (B, L, H, D), turned as (B, H, L, D)
      const Tensor out = rotated(x.view().transposed(1, 2), positions, rotary);
      const Tensor wide = rotated(copy_of(x.view().transposed(1, 2), DType::f64), positions, rotary);
      EXPECT_TRUE(same_bits(out, copy_of(wide, dtype)));
      apply_rotary(x.view().transposed(1, 2), positions, rotary, x.view().transposed(1, 2));
      EXPECT_TRUE(same_bits(x.view().transposed(1, 2), out));
    }
  }
}

// The tables of these positions, as apply_rotary makes them for itself.
struct Tables {
  Tables(const RotaryAt& positions, std::int64_t pairs)
      : cosines(DType::f64, {static_cast<std::int64_t>(positions.size()), pairs}),
        sines(DType::f64, cosines.shape()) {
    for (std::size_t at = 0; at < cosines.values<double>().size(); ++at) {
      const auto pair = at % static_cast<std::size_t>(pairs), row = at / static_cast<std::size_t>(pairs);
      const double wavelength =
          std::pow(10000, 2 * static_cast<double>(pair) / static_cast<double>(2 * pairs));
      cosines.values<double>()[at] = std::cos(static_cast<double>(positions[row]) / wavelength);
      sines.values<double>()[at] = std::sin(static_cast<double>(positions[row]) / wavelength);
    }
  }
  Tensor cosines, sines;
};

Tensor rotated_by(ConstTensorView x, ConstTensorView cosines, ConstTensorView sines, RotaryPairing pairing,
                  bool inverse = false) {
  Tensor out(x.dtype(), x.shape());
  apply_rotary_tables(x, cosines, sines, pairing, out, inverse);
  return out;
}

TEST(RotaryTables, TurnAsPositionsDo) {
  const RotaryAt positions{0, 3, 100, 8191, -4};
  const Tables tables(positions, 3);
  for (const RotaryPairing pairing : kPairings) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      Tensor x = random_normal({2, 5, 3, 8}, dtype, 9);  // (B, L, H, D), turned as (B, H, L, D)
      const TensorView view = x.view().transposed(1, 2);
      for (const bool inverse : {true, false}) {
        const Tensor expected = rotated(view, positions, {10000, 6, pairing}, inverse);
        EXPECT_TRUE(same_bits(rotated_by(view, tables.cosines, tables.sines, pairing, inverse), expected));
      }
      const Tensor expected = rotated(view, positions, {10000, 6, pairing});
      apply_rotary_tables(view, tables.cosines, tables.sines, pairing, view);
      EXPECT_TRUE(same_bits(view, expected));
    }
  }
}

// One table for each sequence, shared by its heads; strided, and of another type than x.
TEST(RotaryTables, Broadcast) {
  const Tensor x = random_normal({2, 3, 5, 8}, DType::f32, 10);
  const Tensor stored = random_normal({2, 5, 4, 2}, DType::f16, 11);
  const ConstTensorView cosines = stored.view().select(3, 0).with_axis(1),
                        sines = stored.view().select(3, 1).with_axis(1);
  const Tensor out = rotated_by(x, cosines, sines, RotaryPairing::halves);
  for (const std::int64_t sequence : {0, 1}) {
    for (const std::int64_t head : {0, 1, 2}) {
      const auto part = [&](ConstTensorView view, std::int64_t which) {
        return view.select(0, sequence).select(0, which);
      };
      EXPECT_TRUE(
          same_bits(rotated_by(part(x, head), part(cosines, 0), part(sines, 0), RotaryPairing::halves),
                    part(out, head)));
    }
  }
  const ConstTensorView one = stored.view().select(0, 0).select(2, 0).select(0, 0);  // for every row of x
  const Tensor by_one = rotated_by(x, one, one, RotaryPairing::halves);
  EXPECT_TRUE(same_bits(by_one.view().select(0, 1),
                        rotated_by(x.view().select(0, 1), one, one, RotaryPairing::halves)));
}

TEST(RotaryTables, EmptyAndRefused) {
  const Tensor none(DType::f32, {3, 0});
  Tensor x = random_normal({3, 6}, DType::f32, 12);
  EXPECT_TRUE(same_bits(rotated_by(x, none, none, RotaryPairing::halves), x));
  EXPECT_EQ(rotated_by(none, none, none, RotaryPairing::halves).count(), 0);
  EXPECT_EQ(rotated_by(Tensor(DType::f32, {0, 4}), Tensor(DType::f32, {1, 2}), Tensor(DType::f32, {1, 2}),
                       RotaryPairing::interleaved)
                .count(),
            0);
  const Tensor two(DType::f32, {2, 3}), three(DType::f32, {3, 3}), four(DType::f32, {3, 4}),
      deep(DType::f32, {1, 3, 3}), whole(DType::i64, {3, 3});
  EXPECT_REFUSES(rotated_by(x, two, two, RotaryPairing::halves),
                 "[apply_rotary_tables] cosines has shape (2, 3), which does not broadcast to the rows of x");
  EXPECT_REFUSES(rotated_by(x, four, four, RotaryPairing::halves),
                 "[apply_rotary_tables] cosines has 4 pairs for vectors of 6");
  EXPECT_REFUSES(rotated_by(x, three, two, RotaryPairing::halves),
                 "[apply_rotary_tables] sines has shape (2, 3), expected (3, 3)");
  EXPECT_REFUSES(rotated_by(x, deep, deep, RotaryPairing::halves),
                 "[apply_rotary_tables] cosines has shape (1, 3, 3), expected 1 to 2 dimensions");
  EXPECT_REFUSES(rotated_by(x, whole, whole, RotaryPairing::halves), "[apply_rotary_tables] cosines is i64");
  EXPECT_REFUSES(rotated_by(x, three, {}, RotaryPairing::halves), "[apply_rotary_tables] sines is not given");
  EXPECT_REFUSES(apply_rotary_tables(random_normal({3, 6}, DType::f32, 1), x.view().slice(1, 0, 3), three,
                                     RotaryPairing::halves, x),
                 "[apply_rotary_tables] out overlaps cosines in memory");
}

TEST(Rotary, EmptyAndRefused) {
  EXPECT_EQ(rotated(Tensor(DType::f32, {2, 0, 4}), {}, {}).count(), 0);
  EXPECT_EQ(rotated(Tensor(DType::f32, {0, 3, 4}), {1, 2, 3}, {}).count(), 0);
  EXPECT_EQ(rotated(Tensor(DType::f32, {2, 0}), {1, 2}, {}).count(), 0);
  Tensor x(DType::f32, {3, 6});
  const RotaryAt three{0, 1, 2};
  EXPECT_REFUSES(rotated(x, {0, 1}, {}), "[apply_rotary] got 2 positions for 3 rows");
  EXPECT_REFUSES(rotated(x, three, {10000, 3}), "[apply_rotary] cannot rotate 3 dimensions in pairs");
  EXPECT_REFUSES(rotated(x, three, {10000, 8}), "[apply_rotary] cannot rotate 8 dimensions of vectors of 6");
  EXPECT_REFUSES(rotated(x, three, {10000, -2}),
                 "[apply_rotary] cannot rotate -2 dimensions of vectors of 6");
  EXPECT_REFUSES(rotated(x.view().slice(1, 0, 5), three, {}),
                 "[apply_rotary] cannot rotate 5 dimensions in pairs");
  EXPECT_REFUSES(rotated(x, three, {NAN}), "[apply_rotary] base is nan, expected a positive finite number");
  EXPECT_REFUSES(rotated(x.view().select(0, 0), three, {}), "[apply_rotary] x has shape (6,)");
  Tensor other(DType::f32, {3, 4}), wide(DType::f64, {3, 6});
  EXPECT_REFUSES(apply_rotary(x, three, {}, other), "[apply_rotary] out has shape (3, 4), expected (3, 6)");
  EXPECT_REFUSES(apply_rotary(x, three, {}, wide), "[apply_rotary] out is f64, expected f32 as x");
  EXPECT_REFUSES(apply_rotary(x.view().slice(1, 0, 4), three, {}, x.view().slice(1, 2, 6)),
                 "[apply_rotary] out overlaps x in memory");
}

}  // namespace
}  // namespace attend
