#include <attend/matmul.h>
#include <attend/reference.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/matmul_int8/matmul_int8.h"
#include "kernels/matmul_int8/matmul_int8_reference.h"
#include "support/compare.h"
#include "support/covering_array.h"
#include "support/each_isa.h"
#include "support/random.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend {
namespace {

class MatmulInt8 : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, MatmulInt8, testing::ValuesIn(available_isas(Precision::int8)), isa_name);

constexpr Activation kInt8Activations[] = {Activation::none, Activation::gelu, Activation::gelu_tanh,
                                           Activation::relu, Activation::silu};

Tensor int8_product(ConstTensorView a, const PackedMatrix& w, const MatmulEpilogue& epilogue = {}) {
  Dims shape(a.shape());
  shape[a.rank() - 1] = w.columns();
  Tensor out(a.dtype(), shape);
  matmul(a, w, out, epilogue);
  return out;
}

Tensor int8_product(ConstTensorView a, ConstTensorView w, const MatmulEpilogue& epilogue = {}) {
  return int8_product(a, PackedMatrix(w, PackedAs::int8), epilogue);
}

// (m, k) as the rows stand for, and (k, n) as the columns do.
Tensor held_rows(ConstTensorView given) {
  const Tensor rows = copy_of(given, DType::f32);
  Tensor held(DType::f64, rows.shape());
  const std::int64_t k = given.size(given.rank() - 1);
  for (std::int64_t i = 0; k > 0 && i < rows.count() / k; ++i)
    kernels::int8_row_reference(rows.values<float>().data() + i * k, k, held.values<double>().data() + i * k);
  return held;
}

Tensor held_columns(ConstTensorView w) {
  const Tensor columns = copy_of(w.transposed(0, 1), DType::f32);
  Tensor held(DType::f64, columns.shape());
  for (std::int64_t j = 0; w.size(0) > 0 && j < w.size(1); ++j)
    kernels::int8_column_reference(columns.values<float>().data() + j * w.size(0), w.size(0),
                                   held.values<double>().data() + j * w.size(0));
  return copy_of(held.view().transposed(0, 1));
}

// The product of what is held, in float64.
Tensor held_product(ConstTensorView a, ConstTensorView w, const MatmulEpilogue& epilogue = {}) {
  Dims shape(a.shape());
  shape[a.rank() - 1] = w.size(1);
  Tensor out(DType::f64, shape);
  reference::matmul(held_rows(a), held_columns(w), out, epilogue);
  return out;
}

double bound_of(DType dtype) { return dtype == DType::bf16 ? 0.03 : dtype == DType::f16 ? 0.004 : 4e-6; }

double per_root(std::int64_t k) { return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, k))); }

// Every pair of: rows, columns, depth, type, weight type and order, bias, activation, residual.
TEST_P(MatmulInt8, EveryPairOfShapesAndOptionsIsTheProductOfWhatIsHeld) {
  const std::vector<std::int64_t> rows{0, 1, 2, 5, 6, 7, 8, 9, 17, 65, 129, 200};
  const std::vector<std::int64_t> sizes{0, 1, 2, 3, 4, 7, 15, 16, 17, 31, 33, 47, 48, 49, 127, 129, 384};
  const std::vector<DType> types{DType::f32, DType::bf16, DType::f16};
  std::uint64_t seed = 1;
  for (const auto& row : covering_array({12, 17, 17, 3, 3, 2, 2, 5, 3})) {
    const std::int64_t m = rows[static_cast<std::size_t>(row[0])];
    const std::int64_t n = sizes[static_cast<std::size_t>(row[1])],
                       k = sizes[static_cast<std::size_t>(row[2])];
    if (kSanitized && m * n * k > 100'000) continue;
    const DType dtype = types[static_cast<std::size_t>(row[3])],
                w_dtype = types[static_cast<std::size_t>(row[4])];
    const Tensor a = random_normal({m, k}, dtype, ++seed);
    const Tensor stored = row[5] == 0 ? random_normal({k, n}, w_dtype, ++seed, per_root(k))
                                      : random_normal({n, k}, w_dtype, ++seed, per_root(k));
    const ConstTensorView w = row[5] == 0 ? stored.view() : stored.view().transposed(0, 1);
    const Tensor bias = random_normal({n}, w_dtype, ++seed), residual = random_normal({m, n}, dtype, ++seed);
    MatmulEpilogue epilogue;
    if (row[6] != 0) epilogue.bias = bias;
    epilogue.activation = kInt8Activations[row[7]];
    if (row[8] != 0) epilogue.residual = residual;
    const std::string what = std::to_string(m) + ' ' + std::to_string(n) + ' ' + std::to_string(k);
    const PackedMatrix packed(w, PackedAs::int8);
    const Tensor once = int8_product(a, packed, epilogue);
    ASSERT_LE(max_abs_difference(once, held_product(a, w, epilogue)), bound_of(dtype)) << what;
    if (row[8] == 2) {  // in place of the residual
      Tensor out = copy_of(residual);
      epilogue.residual = out;
      matmul(a, packed, out, epilogue);
      ASSERT_TRUE(same_bits(out, once)) << what;
    }
  }
}

// A few elements far beyond the others, which are as exact as without them; too many; and so far beyond that
// the range has to grow.
TEST_P(MatmulInt8, OutliersOfARow) {
  const std::int64_t k = 384, n = 50;
  const Tensor w = random_normal({k, n}, DType::f32, 2, per_root(k));
  const PackedMatrix packed(w, PackedAs::int8);
  const Tensor plain = random_normal({1, k}, DType::f32, 1);
  const auto error_of = [&](ConstTensorView a) {
    Tensor expected(DType::f64, {1, n});
    reference::matmul(a, held_columns(w), expected);
    const Tensor found = int8_product(a, packed);
    EXPECT_LE(max_abs_difference(found, held_product(a, w)), 1e-6 * (1 + max_abs_difference(a, plain)));
    return max_abs_difference(found, expected);
  };
  const double usual = error_of(plain);
  for (const float size : {5.0f, -50.0f, 300.0f}) {
    Tensor a = copy_of(plain);
    a.values<float>()[7] = size;
    a.values<float>()[200] = -size / 2;
    EXPECT_LT(error_of(a), 3 * usual) << size;
  }
  Tensor beyond = copy_of(plain), many = copy_of(plain);
  beyond.values<float>()[383] = -1e5f;
  EXPECT_GT(error_of(beyond), 10 * usual);
  for (std::size_t i = 0; i < 9; ++i) many.values<float>()[16 * i] = 50;  // at one place modulo 16
  EXPECT_GT(error_of(many), 3 * usual);
}

// Nothing but sums that are exact and the same few roundings of f32: so the bits are the same on every
// instruction set, whichever packed the matrix.
TEST_P(MatmulInt8, TheBitsAreThoseOfEveryOtherInstructionSet) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 17, 5}, {13, 50, 33}, {130, 96, 384}}) {
    Tensor a = random_normal({m, k}, DType::f32, 1);
    for (float& value : a.values<float>()) value = std::round(value * 8) / 8;  // many ties
    const Tensor w = random_normal({k, n}, DType::f32, 2), bias = random_normal({n}, DType::f32, 3),
                 residual = random_normal({m, n}, DType::f32, 4);
    const MatmulEpilogue epilogue{bias, Activation::relu, residual};
    const PackedMatrix packed(w, PackedAs::int8);
    const Tensor expected = int8_product(a, packed, epilogue);
    for (const std::string& other : available_isas(Precision::int8)) {
      set_isa(other);
      const PackedMatrix packed_there(w, PackedAs::int8);
      EXPECT_TRUE(same_bits(packed_there.memory(), packed.memory())) << other;
      EXPECT_TRUE(same_bits(int8_product(a, packed_there, epilogue), expected)) << other;
    }
    set_isa(GetParam());
  }
}

// Sums as large as they get: every product is 255 * 127. Those of a block are exact, and blocks are added in
// f32.
TEST_P(MatmulInt8, TheGreatestSumsFit) {
  for (const std::int64_t k : {128, 70000}) {
    Tensor a(DType::f32, {2, k}), w(DType::f32, {k, 3});
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t r = 0; r < 2; ++r) a.values<float>()[static_cast<std::size_t>(r * k + i)] = 255;
      for (std::int64_t j = 0; j < 3; ++j)
        w.values<float>()[static_cast<std::size_t>(i * 3 + j)] = j == 1 ? -127 : 127;
    }
    const auto most = static_cast<float>(255 * 127 * k);
    const float off = k > 128 ? most * 1e-5f : 0;
    const Tensor out = int8_product(a, w);
    for (const std::size_t i : {0U, 2U, 3U}) EXPECT_NEAR(out.values<float>()[i], most, off);
    EXPECT_NEAR(out.values<float>()[4], -most, off);
    for (float& value : a.values<float>()) value = -value;
    EXPECT_NEAR(int8_product(a, w).values<float>()[1], most, off);
  }
}

// A weight far beyond those around it takes bits from the 127 that share its scale, and from no others.
TEST_P(MatmulInt8, AWeightFarBeyondOthersCostsItsBlockAlone) {
  const std::int64_t k = 384;
  Tensor w = random_normal({k, 1}, DType::f32, 2);
  const Tensor a = random_normal({1, k}, DType::f32, 1), plain = copy_of(held_columns(w));
  w.values<float>()[130] = 100;
  const Tensor held = held_columns(w);
  for (const std::size_t i : {0U, 127U, 256U, 383U})
    EXPECT_NEAR(held.values<double>()[i], plain.values<double>()[i], 1e-6);
  EXPECT_LE(max_abs_difference(int8_product(a, w), held_product(a, w)), 1e-4);
}

TEST_P(MatmulInt8, AnyStrides) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Tensor x = random_normal({70, 3, 21}, dtype, 1), w = random_normal({13, 21}, dtype, 2);
    const Tensor biases = random_normal({13, 2}, dtype, 3), r = random_normal({13, 70, 3}, dtype, 4);
    const ConstTensorView a = x.view().transposed(0, 1), weight = w.view().transposed(0, 1);
    const ConstTensorView bias = biases.view().select(1, 1), residual = r.view().transposed(0, 2);
    const Tensor expected =
        int8_product(copy_of(a), copy_of(weight), {copy_of(bias), Activation::gelu, copy_of(residual)});
    EXPECT_TRUE(same_bits(int8_product(a, weight, {bias, Activation::gelu, residual}), expected));
    Tensor out(dtype, {13, 70, 3});
    matmul(a, PackedMatrix(weight, PackedAs::int8), out.view().transposed(0, 2),
           {bias, Activation::gelu, residual});
    EXPECT_TRUE(same_bits(out.view().transposed(0, 2), expected));
  }
}

TEST_P(MatmulInt8, ARowHasTheSameBitsInAnyCompanyAndWithAnyThreads) {
  for (const std::int64_t n : {200, 1536}) {
    const Tensor a = random_normal({2, 131, 100}, DType::f32, 1), w = random_normal({100, n}, DType::f32, 2);
    const Tensor bias = random_normal({n}, DType::f32, 3), r = random_normal({2, 131, n}, DType::f32, 4);
    const PackedMatrix packed(w, PackedAs::int8);
    set_threads(1);
    const Tensor expected = int8_product(a, packed, {bias, Activation::gelu, r});
    for (const int count : {1, 2, 3, 8}) {
      set_threads(count);
      EXPECT_TRUE(same_bits(int8_product(a, packed, {bias, Activation::gelu, r}), expected));
      for (const auto& [first, last] : {std::pair{0, 1}, {5, 7}, {60, 70}, {3, 130}}) {
        const auto part = [&](ConstTensorView view) { return view.slice(1, first, last); };
        EXPECT_TRUE(
            same_bits(int8_product(part(a), packed, {bias, Activation::gelu, part(r)}), part(expected)));
      }
    }
  }
  set_threads(0);
}

TEST_P(MatmulInt8, NotANumberStaysInItsRowAndColumn) {
  for (const float wrong : {NAN, HUGE_VALF, -HUGE_VALF}) {
    Tensor a = random_normal({70, 33}, DType::f32, 1), w = random_normal({33, 19}, DType::f32, 2);
    a.values<float>()[4 * 33 + 32] = wrong;
    a.values<float>()[9 * 33] = wrong;
    w.values<float>()[2 * 19 + 7] = wrong;
    for (const Activation activation : {Activation::gelu_tanh, Activation::relu}) {
      const Tensor out = int8_product(a, w, {.activation = activation});
      for (std::size_t i = 0; i < 70; ++i) {
        for (std::size_t j = 0; j < 19; ++j) {
          ASSERT_EQ(std::isnan(out.values<float>()[i * 19 + j]), i == 4 || i == 9 || j == 7) << i << ' ' << j;
        }
      }
    }
  }
}

// Rows and columns of any size of number, one element included, which is exact then.
TEST_P(MatmulInt8, NumbersOfAnySize) {
  for (const float size : {1e-44f, 1e-37f, 1e-30f, 1.0f, 1e30f, 3e38f}) {
    const Tensor row = Tensor::from<float>({2, 2}, {size, -size, 0, 0});
    const Tensor one = Tensor::from<float>({2, 1}, {1, 0});
    const Tensor out = int8_product(row, one);
    const float step = size / 127;
    EXPECT_NEAR(out.values<float>()[0], size < 1e-36f ? 0 : size, size < 1e-36f ? 0 : step) << size;
    EXPECT_EQ(out.values<float>()[1], 0) << size;
    const Tensor weight = Tensor::from<float>({2, 1}, {size, 0}), ones = Tensor::from<float>({1, 2}, {1, 0});
    EXPECT_NEAR(int8_product(ones, weight).values<float>()[0], size, size < 1e-36f ? size : size / 1e6f)
        << size;
  }
}

TEST(MatmulInt8Edges, NothingGoesIn) {
  EXPECT_EQ(int8_product(Tensor(DType::f32, {0, 4}), Tensor(DType::f32, {4, 3})).count(), 0);
  EXPECT_EQ(int8_product(Tensor(DType::bf16, {2, 4}), Tensor(DType::f32, {4, 0})).count(), 0);
  const Tensor bias = Tensor::from<float>({2}, {1, 2});  // nothing goes in, the bias comes out
  EXPECT_TRUE(same_bits(int8_product(Tensor(DType::f32, {1, 0}), Tensor(DType::f32, {0, 2}), {.bias = bias}),
                        Tensor::from<float>({1, 2}, {1, 2})));
}

TEST(MatmulInt8Edges, TheTransposeIsThatOfTheNumbersHeld) {
  const Tensor w = random_normal({33, 50}, DType::f32, 1), a = random_normal({5, 50}, DType::f32, 2);
  const PackedMatrix turned = PackedMatrix(w, PackedAs::int8).transposed();
  EXPECT_EQ(turned.packed_as(), PackedAs::f32);
  EXPECT_EQ(turned.rows(), 50);
  Tensor found(DType::f32, {5, 33}), expected(DType::f64, {5, 33});
  matmul(a, turned, found);
  const Tensor held = held_columns(w);
  reference::matmul(a, held.view().transposed(0, 1), expected);
  EXPECT_LT(max_abs_difference(found, expected), 1e-5);
}

TEST(MatmulInt8Edges, TakesAQuarterOfTheMemory) {
  // A number a byte; a scale for each 128; two more numbers a column.
  EXPECT_EQ(PackedMatrix::bytes_needed(384, 1536, {}, PackedAs::int8), 384 * 1536 + 3 * 1536 * 4 + 1536 * 8);
  EXPECT_EQ(PackedMatrix::bytes_needed(5, 17, {}, PackedAs::int8), 8 * 32 + 32 * 4 + 32 * 8);
}

}  // namespace
}  // namespace attend
