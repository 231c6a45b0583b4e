// Products with matrices packed as bf16, on every instruction set that multiplies them in a way of its own.
#include <attend/isa.h>
#include <attend/matmul.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "nn/products.h"
#include "support/compare.h"
#include "support/covering_array.h"
#include "support/each_isa.h"
#include "support/sanitized.h"

namespace attend {
namespace {

// Whether the instruction set in use multiplies bf16 itself.
bool multiplies_bf16() {
  const std::string name = isa(Precision::bf16);
  return name == "avx512_bf16" || name == "avx512_amx";
}

class MatmulBf16 : public EachIsa {
 protected:
  // What rows become before they are multiplied: bf16 where the processor multiplies that, else themselves.
  static Tensor as_multiplied(ConstTensorView a) {
    return multiplies_bf16() ? copy_of(a, DType::bf16) : copy_of(a);
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, MatmulBf16, testing::ValuesIn(available_isas(Precision::bf16)), isa_name);

PackedMatrix packed(ConstTensorView w) { return PackedMatrix(w, PackedAs::bf16); }

Tensor absolute(ConstTensorView view) {
  Tensor result = copy_of(view, DType::f64);
  for (double& value : result.values<double>()) value = std::abs(value);
  return result;
}

// The largest error of an element as a share of what may be wrong with it: `relative` times the sum of its
// products' sizes. Where bias or residual are added and the result is rounded to its type, that comes on top.
double share_of_bound(const Tensor& found, const Tensor& expected, const Tensor& sizes, double relative) {
  const double rounding = found.dtype() == DType::bf16  ? 0x1p-8
                          : found.dtype() == DType::f16 ? 0x1p-11
                                                        : 0x1p-23;
  const std::vector<double> ours = values_of(found), theirs = values_of(expected), size = values_of(sizes);
  double largest = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    // 1.13: the steepest that GELU is. 1e-6: its polynomial, and the roundings of bias and residual.
    const double bound = 1.13 * relative * size[i] + rounding * std::abs(theirs[i]) + 1e-6;
    largest = std::max(largest, difference(ours[i], theirs[i]) / bound);
  }
  return largest;
}

// A sum of n products in f32, one after the other in parts of at most 256, is off by this share of the sum of
// their sizes at most.
double f32_error(std::int64_t k) {
  return static_cast<double>(std::min<std::int64_t>(k, 256) + k / 128 + 2) * 0x1p-24;
}

// Against the product of the numbers as they are multiplied the error is that of f32; against that of the
// numbers as they were given, the rounding of each factor comes on top: 2^-8 of it at most.
TEST_P(MatmulBf16, EveryPairOfShapesAndOptionsIsWithinItsBounds) {
  const std::vector<std::int64_t> rows{0, 1, 2, 7, 8, 9, 17, 65, 129};
  const std::vector<std::int64_t> sizes{0, 1, 2, 7, 15, 16, 17, 31, 33, 47, 48, 49, 127, 129, 200, 257};
  const std::vector<DType> types{DType::f32, DType::bf16, DType::f16};
  constexpr Activation kActivations[] = {Activation::none, Activation::gelu, Activation::gelu_tanh,
                                         Activation::relu};
  const std::vector<int> knobs{9, 16, 16, 3, 3, 2, 2, 4, 3};
  std::uint64_t seed = 1;
  for (const auto& row : covering_array(knobs)) {
    const std::int64_t m = rows[static_cast<std::size_t>(row[0])];
    const std::int64_t n = sizes[static_cast<std::size_t>(row[1])],
                       k = sizes[static_cast<std::size_t>(row[2])];
    if (kSanitized && m * n * k > 100'000) continue;
    const DType dtype = types[static_cast<std::size_t>(row[3])],
                w_dtype = types[static_cast<std::size_t>(row[4])];
    const Tensor a = random_normal({m, k}, dtype, ++seed);
    const Tensor stored =
        row[5] == 0 ? random_weight({k, n}, k, w_dtype, ++seed) : random_weight({n, k}, k, w_dtype, ++seed);
    const ConstTensorView w = row[5] == 0 ? stored.view() : stored.view().transposed(0, 1);
    const Tensor bias = random_normal({n}, w_dtype, ++seed), residual = random_normal({m, n}, dtype, ++seed);
    MatmulEpilogue epilogue;
    if (row[6] != 0) epilogue.bias = bias;
    epilogue.activation = kActivations[row[7]];
    if (row[8] != 0) epilogue.residual = residual;
    const std::string what = std::to_string(m) + ' ' + std::to_string(n) + ' ' + std::to_string(k);

    const Tensor found = product(a, packed(w), epilogue);
    const Tensor sizes_of_sums = reference_product(absolute(a), absolute(w));
    const Tensor multiplied = reference_product(as_multiplied(a), copy_of(w, DType::bf16), epilogue);
    ASSERT_LE(share_of_bound(found, multiplied, sizes_of_sums, f32_error(k)), 1) << what;
    const double rounded = multiplies_bf16() && dtype != DType::bf16 ? 0x1p-7 + 0x1p-16 : 0x1p-8;
    ASSERT_LE(share_of_bound(found, reference_product(a, w, epilogue), sizes_of_sums, rounded + f32_error(k)),
              1)
        << what;
    if (row[8] == 2) {  // in place of the residual
      Tensor out = copy_of(residual);
      epilogue.residual = out;
      matmul(a, packed(w), out, epilogue);
      ASSERT_TRUE(same_bits(out, found)) << what;
    }
  }
}

// Long sums, of either sign and of one: the error stays that of f32, and is far below the worst case.
TEST_P(MatmulBf16, LongSums) {
  for (const std::int64_t k : {768, 1536, 3072, 4096, 4099}) {
    const Tensor a = random_normal({9, k}, DType::f32, 1), w = random_weight({k, 50}, k, DType::f32, 2);
    const Tensor exact = reference_product(as_multiplied(a), copy_of(w, DType::bf16));
    EXPECT_LT(max_abs_difference(product(a, packed(w)), exact), 4e-6) << k;
    EXPECT_LT(max_abs_difference(product(a, packed(w)), reference_product(a, w)), 0.02) << k;
  }
  const Tensor p = random_uniform({5, 4096}, DType::f32, 3), q = random_uniform({4096, 40}, DType::f32, 4);
  const Tensor exact = reference_product(as_multiplied(p), copy_of(q, DType::bf16));
  EXPECT_LT(max_abs_difference(product(p, packed(q)), exact) / 1024, 2e-6);
}

// Without the instruction the f32 product of the rounded weights, to the bit.
TEST_P(MatmulBf16, WidenedWeightsAreThoseOfTheF32Product) {
  if (multiplies_bf16()) return;
  for (const std::int64_t k : {1, 2, 33, 128, 384, 1536}) {
    const Tensor a = random_normal({19, k}, DType::f32, 1), w = random_weight({k, 37}, k, DType::bf16, 2);
    EXPECT_TRUE(same_bits(product(a, packed(w)), product(a, PackedMatrix(w)))) << k;
  }
}

// With it, rows of bf16 are multiplied where they lie, and rows of f32 as those that they are rounded to.
TEST_P(MatmulBf16, RowsAreRoundedOnceOrReadWhereTheyLie) {
  for (const std::int64_t k : {64, 65}) {
    for (const std::int64_t m : {3, 300, 2100}) {  // columns cut into several blocks, and into one
      const Tensor a = random_normal({m, k}, DType::f32, 1), w = random_weight({k, 50}, k, DType::f32, 2);
      const Tensor rounded = copy_of(as_multiplied(a), DType::f32);
      EXPECT_TRUE(same_bits(product(rounded, packed(w)), product(a, packed(w)))) << k << ' ' << m;
      const Tensor narrow = copy_of(a, DType::bf16);
      const Tensor wide = product(copy_of(narrow, DType::f32), packed(w));
      EXPECT_TRUE(same_bits(product(narrow, packed(w)), copy_of(wide, DType::bf16))) << k << ' ' << m;
    }
  }
}

// On tiles 32 numbers at a time, even and odd places apart: what the instruction is defined to do, and its
// twin in software does.
TEST_P(MatmulBf16, TilesAddInTheOrderOfTheInstruction) {
  if (isa(Precision::bf16) != "avx512_amx") return;
  for (const std::int64_t k : {1, 2, 31, 32, 33, 400, 1000}) {
    const std::int64_t m = 37, n = 50;
    const Tensor a = copy_of(random_normal({m, k}, DType::bf16, 1), DType::f32),
                 w = copy_of(random_normal({k, n}, DType::bf16, 2), DType::f32);
    const auto x = a.values<float>(), y = w.values<float>();
    Tensor expected(DType::f32, {m, n});
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t first = 0; first < k; first += 32) {
          float parts[2] = {};
          for (std::int64_t p = first; p < std::min(k, first + 32); ++p) {
            float& part = parts[p % 2];
            part = std::fma(x[static_cast<std::size_t>(i * k + p)], y[static_cast<std::size_t>(p * n + j)],
                            part);
          }
          sum += parts[0] + parts[1];
        }
        expected.values<float>()[static_cast<std::size_t>(i * n + j)] = sum;
      }
    }
    EXPECT_TRUE(same_bits(product(a, packed(w)), expected)) << k;
  }
}

TEST_P(MatmulBf16, AnyStrides) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const std::int64_t k : {20, 21}) {
      const Tensor x = random_normal({70, 3, k}, dtype, 1), w = random_weight({13, k}, k, dtype, 2);
      const Tensor biases = random_normal({13, 2}, dtype, 3), r = random_normal({13, 70, 3}, dtype, 4);
      const ConstTensorView a = x.view().transposed(0, 1), weight = w.view().transposed(0, 1);
      const ConstTensorView bias = biases.view().select(1, 1), residual = r.view().transposed(0, 2);
      const Tensor expected =
          product(copy_of(a), packed(copy_of(weight)), {copy_of(bias), Activation::gelu, copy_of(residual)});
      Tensor out(dtype, {13, 70, 3});
      matmul(a, packed(weight), out.view().transposed(0, 2), {bias, Activation::gelu, residual});
      EXPECT_TRUE(same_bits(out.view().transposed(0, 2), expected)) << k;
    }
  }
  const Tensor row = Tensor::from<float>({1, 3}, {1, 2, 3}), ten = Tensor::from<float>({3, 1}, {100, 10, 1});
  const ConstTensorView reversed(row.values<float>().data() + 2, {1, 3}, {3, -1});
  EXPECT_EQ(product(reversed, packed(ten)).values<float>()[0], 321.0F);
  // One column of a wide tensor, of bf16: rows lie apart, and no element is beside another.
  const Tensor wide = random_normal({5, 8}, DType::bf16, 5), one = random_normal({1, 4}, DType::bf16, 6);
  const ConstTensorView column = wide.view().slice(1, 3, 4);
  EXPECT_TRUE(same_bits(product(column, packed(one)), product(copy_of(column), packed(one))));
}

TEST_P(MatmulBf16, ARowHasTheSameBitsInAnyCompanyAndWithAnyThreads) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor a = random_normal({2, 131, 101}, dtype, 1),
                 w = random_weight({101, 200}, 101, DType::f32, 2);
    const Tensor bias = random_normal({200}, DType::f32, 3), r = random_normal({2, 131, 200}, dtype, 4);
    const PackedMatrix matrix = packed(w);
    set_threads(1);
    const Tensor expected = product(a, matrix, {bias, Activation::gelu, r});
    for (const int count : {1, 2, 3, 8}) {
      set_threads(count);
      EXPECT_TRUE(same_bits(product(a, matrix, {bias, Activation::gelu, r}), expected));
      for (const auto& [first, last] : {std::pair{0, 1}, {5, 7}, {60, 70}, {3, 130}}) {
        const auto part = [&](ConstTensorView view) { return view.slice(1, first, last); };
        EXPECT_TRUE(same_bits(product(part(a), matrix, {bias, Activation::gelu, part(r)}), part(expected)));
      }
    }
    set_threads(0);
  }
}

// Rounding at the end, whatever is multiplied; and rows that are bf16 already are multiplied where they lie,
// if they are whole lines of the cache.
TEST_P(MatmulBf16, EveryTensorMayHaveATypeOfItsOwn) {
  for (const auto& [m, k, n] :
       {std::array<std::int64_t, 3>{1, 64, 50}, {37, 33, 48}, {48, 64, 33}, {270, 416, 100}}) {
    const Tensor a = random_normal({m, k}, DType::bf16, 1), same = copy_of(a, DType::f32);
    const Tensor wide = random_normal({m, k + 1}, DType::bf16, 1);
    const Tensor w = random_weight({k, n}, k, DType::f32, 2), bias = random_normal({n}, DType::f32, 3);
    const Tensor r = random_normal({m, n}, DType::f32, 4), rounded_r = copy_of(r, DType::bf16);
    for (const PackedAs as : {PackedAs::f32, PackedAs::bf16, PackedAs::int8}) {
      const PackedMatrix matrix(w, as);
      const auto into = [&](DType dtype, ConstTensorView rows, ConstTensorView residual) {
        Tensor out(dtype, {m, n});
        matmul(rows, matrix, out, {bias, Activation::gelu, residual});
        return out;
      };
      const Tensor expected = into(DType::f32, same, r);
      EXPECT_TRUE(same_bits(into(DType::f32, a, r), expected)) << name_of(as) << ' ' << m;
      for (const DType dtype : {DType::bf16, DType::f16}) {
        EXPECT_TRUE(same_bits(into(dtype, a, r), copy_of(expected, dtype))) << name_of(as) << ' ' << m;
        EXPECT_TRUE(same_bits(into(dtype, same, rounded_r), into(dtype, a, copy_of(rounded_r, DType::f32))));
      }
      EXPECT_TRUE(same_bits(into(DType::bf16, wide.view().slice(1, 1, k + 1), {}),
                            into(DType::bf16, copy_of(wide.view().slice(1, 1, k + 1)), {})));
      Tensor among(DType::bf16, {m, n + 7});  // what is beside out stays as it is
      for (bfloat16& x : among.values<bfloat16>()) x = to_bfloat16(5);
      matmul(a, matrix, among.view().slice(1, 3, n + 3), {bias, Activation::gelu, r});
      EXPECT_TRUE(same_bits(copy_of(among.view().slice(1, 3, n + 3)), copy_of(expected, DType::bf16)));
      for (const std::int64_t column : {std::int64_t{2}, n + 3}) {
        for (const double x : values_of(copy_of(among.view().slice(1, column, column + 1)))) ASSERT_EQ(x, 5);
      }
    }
  }
}

// As many rows as fill one block of columns each: 2100 of them are rounded block by block, one by itself.
TEST_P(MatmulBf16, ARowHasTheSameBitsHoweverTheProductIsCut) {
  const Tensor a = random_normal({2100, 70}, DType::f32, 1), w = random_weight({70, 100}, 70, DType::f32, 2);
  const PackedMatrix matrix = packed(w);
  const Tensor whole = product(a, matrix);
  for (const std::int64_t row : {0, 127, 128, 1000, 2099}) {
    EXPECT_TRUE(
        same_bits(product(a.view().slice(0, row, row + 1), matrix), whole.view().slice(0, row, row + 1)));
  }
}

TEST_P(MatmulBf16, PackedOnAnotherInstructionSet) {
  const Tensor a = random_normal({9, 33}, DType::f32, 1), w = random_weight({33, 50}, 33, DType::f32, 2);
  const Tensor expected = product(a, packed(w));
  for (const std::string& other : available_isas(Precision::bf16)) {
    set_isa(other);
    const PackedMatrix matrix = packed(w);
    set_isa(GetParam());
    EXPECT_TRUE(same_bits(product(a, matrix), expected)) << other;
  }
}

// Odd depths too: the row of zeros that fills the last pair must not meet an infinity.
TEST_P(MatmulBf16, NotANumberStaysInItsRowAndColumn) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF}) {
    for (const std::int64_t k : {10, 11}) {
      Tensor a = random_normal({70, k}, DType::f32, 1), w = random_normal({k, 19}, DType::f32, 2);
      a.values<float>()[static_cast<std::size_t>(4 * k + k - 1)] = bad;
      w.values<float>()[static_cast<std::size_t>((k - 1) * 19 + 7)] = bad;
      const Tensor out = product(a, packed(w));
      for (std::size_t i = 0; i < 70; ++i) {
        for (std::size_t j = 0; j < 19; ++j)
          ASSERT_EQ(std::isfinite(out.values<float>()[i * 19 + j]), i != 4 && j != 7) << i << ' ' << j;
      }
    }
  }
  // Finite in f32, infinite in bf16.
  const Tensor huge = Tensor::from<float>({1, 1}, {std::numeric_limits<float>::max()});
  EXPECT_EQ(product(Tensor::from<float>({1, 1}, {1}), packed(huge)).values<float>()[0], HUGE_VALF);
}

// The instruction takes subnormal factors for 0, and makes subnormal sums 0; f32 keeps them.
TEST_P(MatmulBf16, SubnormalNumbers) {
  const float tiny = 0x1p-130F;
  const Tensor small = Tensor::from<float>({1, 1}, {tiny}), large = Tensor::from<float>({1, 1}, {0x1p100F}),
               one = Tensor::from<float>({1, 1}, {1});
  const auto only = [](const Tensor& tensor) { return tensor.values<float>()[0]; };
  const bool flushed = multiplies_bf16();
  EXPECT_EQ(only(product(small, packed(large))), flushed ? 0 : 0x1p-30F);
  EXPECT_EQ(only(product(large, packed(small))), flushed ? 0 : 0x1p-30F);
  EXPECT_EQ(
      only(product(Tensor::from<float>({1, 1}, {0x1p-70F}), packed(Tensor::from<float>({1, 1}, {0x1p-65F})))),
      flushed ? 0 : 0x1p-135F);
  EXPECT_EQ(only(product(one, packed(small), {.residual = small})), flushed ? tiny : 2 * tiny);
}

TEST(PackedBf16, TakesHalfTheMemory) {
  EXPECT_EQ(PackedMatrix::bytes_needed(384, 1536, {}, PackedAs::bf16), 384 * 1536 * 2);
  EXPECT_EQ(PackedMatrix::bytes_needed(1, 1, {}, PackedAs::bf16), 64);
  EXPECT_EQ(PackedMatrix::bytes_needed(3, 17, {}, PackedAs::bf16), 2 * 2 * 64);
  const Tensor w = random_normal({3, 17}, DType::f32, 1), a = random_normal({2, 3}, DType::f32, 2);
  EXPECT_EQ(packed(w).packed_as(), PackedAs::bf16);
  Tensor memory(DType::f32, {64});
  for (float& value : memory.values<float>()) value = std::numeric_limits<float>::quiet_NaN();
  const PackedMatrix lent(w, memory, PackedAs::bf16);
  EXPECT_EQ(lent.memory().raw(), memory.view().raw());
  EXPECT_TRUE(same_bits(product(a, lent), product(a, packed(w))));
}

TEST(PackedBf16, NothingGoesIn) {
  EXPECT_EQ(product(Tensor(DType::f32, {0, 4}), packed(Tensor(DType::f32, {4, 3}))).count(), 0);
  EXPECT_EQ(product(Tensor(DType::bf16, {2, 4}), packed(Tensor(DType::f32, {4, 0}))).count(), 0);
  const Tensor bias = Tensor::from<float>({2}, {1, 2});
  EXPECT_TRUE(
      same_bits(product(Tensor(DType::f32, {1, 0}), packed(Tensor(DType::f32, {0, 2})), {.bias = bias}),
                Tensor::from<float>({1, 2}, {1, 2})));
}

// The transpose is packed as f32, of the numbers as they are held.
TEST(PackedBf16, TheTransposeIsThatOfTheRoundedMatrix) {
  for (const auto& [k, n] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 40}, {16, 32}, {33, 17}, {64, 1}}) {
    const Tensor w = random_normal({k, n}, DType::f32, 1), rounded = copy_of(w, DType::bf16);
    const PackedMatrix turned = packed(w).transposed(), expected(rounded.view().transposed(0, 1));
    EXPECT_EQ(turned.packed_as(), PackedAs::f32);
    EXPECT_TRUE(same_bits(turned.memory(), expected.memory()));
  }
}

}  // namespace
}  // namespace attend
