#include <attend/matmul.h>
#include <attend/reference.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "nn/products.h"
#include "support/compare.h"
#include "support/covering_array.h"
#include "support/each_isa.h"
#include "support/random.h"
#include "support/refuses.h"
#include "support/sanitized.h"

namespace attend {
namespace {

class Matmul : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Matmul, testing::ValuesIn(available_isas()), isa_name);

constexpr Activation kActivations[] = {Activation::none, Activation::gelu, Activation::gelu_tanh,
                                       Activation::relu};

double tolerance_of(DType dtype) {
  return dtype == DType::bf16 ? 0.03 : dtype == DType::f16 ? 0.004 : dtype == DType::f64 ? 1e-14 : 4e-6;
}

// Every pair of: rows, columns, depth, type, weight type and order, bias, activation, residual.
TEST_P(Matmul, EveryPairOfShapesAndOptionsAgreesWithFloat64) {
  const std::vector<std::int64_t> rows{0, 1, 2, 7, 8, 9, 17, 65, 129, 200};
  const std::vector<std::int64_t> sizes{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 127, 129, 384};
  const std::vector<DType> types{DType::f32, DType::bf16, DType::f16, DType::f64};
  const std::vector<int> knobs{10, 17, 17, 4, 3, 2, 2, 4, 3};
  std::uint64_t seed = 1;
  for (const auto& row : covering_array(knobs)) {
    const std::int64_t m = rows[static_cast<std::size_t>(row[0])];
    const std::int64_t n = sizes[static_cast<std::size_t>(row[1])],
                       k = sizes[static_cast<std::size_t>(row[2])];
    if (kSanitized && m * n * k > 100'000) continue;
    const DType dtype = types[static_cast<std::size_t>(row[3])];
    const DType w_dtype = dtype == DType::f64 ? dtype : types[static_cast<std::size_t>(row[4])];
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
    const Tensor expected = reference_product(a, w, epilogue);
    const Tensor once = product(a, w, epilogue);
    ASSERT_LE(max_abs_difference(once, expected), tolerance_of(dtype)) << what;
    if (dtype != DType::f64) {
      ASSERT_TRUE(same_bits(product(a, PackedMatrix(w), epilogue), once)) << what;
    }
    if (row[8] == 2) {  // in place of the residual
      Tensor out = copy_of(residual);
      epilogue.residual = out;
      matmul(a, w, out, epilogue);
      ASSERT_TRUE(same_bits(out, once)) << what;
    }
  }
}

// Sequences that do not lie one after the other, rows the other way round, an output that is turned, and all
// of it in 16 bits.
TEST_P(Matmul, AnyStrides) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Tensor x = random_normal({70, 3, 20}, dtype, 1), w = random_weight({13, 20}, 20, dtype, 2);
    const Tensor biases = random_normal({13, 2}, dtype, 3), r = random_normal({13, 70, 3}, dtype, 4);
    const ConstTensorView a = x.view().transposed(0, 1), weight = w.view().transposed(0, 1);
    const ConstTensorView bias = biases.view().select(1, 1), residual = r.view().transposed(0, 2);
    const Tensor expected =
        product(copy_of(a), copy_of(weight), {copy_of(bias), Activation::gelu, copy_of(residual)});
    EXPECT_TRUE(same_bits(product(a, weight, {bias, Activation::gelu, residual}), expected));
    Tensor out(dtype, {13, 70, 3});
    matmul(a, PackedMatrix(weight), out.view().transposed(0, 2), {bias, Activation::gelu, residual});
    EXPECT_TRUE(same_bits(out.view().transposed(0, 2), expected));
    Tensor over = copy_of(r);
    matmul(a, weight, over.view().transposed(0, 2), {bias, Activation::gelu, over.view().transposed(0, 2)});
    EXPECT_TRUE(same_bits(over.view().transposed(0, 2), expected));
  }
  const Tensor row = Tensor::from<float>({1, 3}, {1, 2, 3}), ten = Tensor::from<float>({3, 1}, {100, 10, 1});
  const ConstTensorView reversed(row.values<float>().data() + 2, {1, 3}, {3, -1});
  EXPECT_EQ(product(reversed, ten).values<float>()[0], 321.0f);
  const ConstTensorView repeated(row.values<float>().data(), {4, 3}, {0, 1});
  EXPECT_TRUE(same_bits(product(repeated, ten), Tensor::from<float>({4, 1}, {123, 123, 123, 123})));
}

TEST_P(Matmul, ARowHasTheSameBitsInAnyCompanyAndWithAnyThreads) {
  const Tensor a = random_normal({2, 131, 100}, DType::f32, 1),
               w = random_weight({100, 200}, 100, DType::f32, 2);
  const Tensor bias = random_normal({200}, DType::f32, 3), r = random_normal({2, 131, 200}, DType::f32, 4);
  const PackedMatrix packed(w);
  set_threads(1);
  const Tensor expected = product(a, packed, {bias, Activation::gelu, r});
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(product(a, packed, {bias, Activation::gelu, r}), expected));
    for (const auto& [first, last] : {std::pair{0, 1}, {5, 7}, {60, 70}, {3, 130}}) {
      const auto part = [&](ConstTensorView view) { return view.slice(1, first, last); };
      EXPECT_TRUE(same_bits(product(part(a), packed, {bias, Activation::gelu, part(r)}), part(expected)));
    }
  }
  set_threads(0);
}

// A packed matrix serves every instruction set, whichever packed it.
TEST_P(Matmul, PackedOnAnotherInstructionSet) {
  const Tensor a = random_normal({9, 33}, DType::f32, 1), w = random_weight({33, 50}, 33, DType::f32, 2);
  const Tensor expected = product(a, w);
  for (const std::string& other : available_isas()) {
    set_isa(other);
    const PackedMatrix packed(w);
    set_isa(GetParam());
    EXPECT_TRUE(same_bits(product(a, packed), expected)) << other;
  }
}

TEST_P(Matmul, NotANumberStaysInItsRowAndColumn) {
  Tensor a = random_normal({70, 10}, DType::f32, 1), w = random_normal({10, 19}, DType::f32, 2);
  a.values<float>()[4 * 10 + 3] = HUGE_VALF;
  w.values<float>()[2 * 19 + 7] = NAN;
  for (const Activation activation : {Activation::gelu_tanh, Activation::relu}) {
    const Tensor out = product(a, w, {.activation = activation});
    for (std::size_t i = 0; i < 70; ++i) {
      for (std::size_t j = 0; j < 19; ++j) {
        if (i == 4 && j != 7) continue;  // the infinity of row 4 becomes 0 or NaN or stays, by its sign
        ASSERT_EQ(std::isfinite(out.values<float>()[i * 19 + j]), j != 7) << i << ' ' << j;
      }
    }
  }
}

TEST(MatmulEdges, NothingGoesIn) {
  EXPECT_EQ(product(Tensor(DType::f32, {0, 4}), Tensor(DType::f32, {4, 3})).count(), 0);
  EXPECT_EQ(product(Tensor(DType::f32, {2, 0, 4}), Tensor(DType::f32, {4, 3})).count(), 0);
  EXPECT_EQ(product(Tensor(DType::bf16, {2, 4}), Tensor(DType::f32, {4, 0})).count(), 0);
  EXPECT_EQ(product(Tensor(DType::f32, {2, 0}), PackedMatrix()).count(), 0);
  const Tensor bias = Tensor::from<float>({2}, {1, 2});  // nothing goes in, the bias comes out
  EXPECT_TRUE(same_bits(product(Tensor(DType::f32, {1, 0}), Tensor(DType::f32, {0, 2}), {.bias = bias}),
                        Tensor::from<float>({1, 2}, {1, 2})));
}

TEST(MatmulEdges, MatricesPackedSideBySideMultiplyAsThoseThatStandAlone) {
  const Tensor a = random_normal({5, 7}, DType::f32, 1), first = random_normal({7, 18}, DType::f32, 2),
               second = random_normal({7, 33}, DType::f32, 3);
  const auto size = [](std::int64_t columns) {
    return PackedMatrix::bytes_needed(7, columns) / static_cast<std::int64_t>(sizeof(float));
  };
  Tensor memory(DType::f32, {size(18) + size(33)});
  std::ranges::fill(memory.values<float>(), std::numeric_limits<float>::quiet_NaN());
  const PackedMatrix one(first, memory.view().slice(0, 0, size(18)));
  PackedMatrix two(second, memory.view().slice(0, size(18), memory.count()));
  const PackedMatrix moved = std::move(two);
  EXPECT_EQ(one.memory().raw(), memory.view().raw());
  EXPECT_TRUE(same_bits(product(a, one), product(a, PackedMatrix(first))));
  EXPECT_TRUE(same_bits(product(a, moved), product(a, PackedMatrix(second))));
}

TEST(MatmulEdges, MemoryOfTheCallersIsChecked) {
  const Tensor w = random_normal({3, 5}, DType::f32, 1);
  Tensor memory(DType::f32, {128});
  float* const start = memory.values<float>().data();
  const std::int64_t needed = PackedMatrix::bytes_needed(3, 5) / 4;
  EXPECT_EQ(needed % 16, 0);
  EXPECT_REFUSES(PackedMatrix(w, {start, {needed - 1}}), "[PackedMatrix] memory has 188 bytes, expected 192");
  EXPECT_REFUSES(PackedMatrix(w, {start + 1, {needed}}), "[PackedMatrix] memory is not aligned to 64 bytes");
  EXPECT_REFUSES(PackedMatrix(w, {start, {needed}, {2}}), "[PackedMatrix] memory is not contiguous");
  EXPECT_REFUSES(PackedMatrix(w, TensorView()), "[PackedMatrix] memory is not given");
  EXPECT_REFUSES(PackedMatrix({start, {3, 5}}, {start, {needed}}), "[PackedMatrix] memory overlaps w");
  Tensor doubles(DType::f64, {needed / 2});  // memory is memory, whatever its type
  EXPECT_EQ(PackedMatrix(w, doubles).packed_as(), PackedAs::f32);
}

TEST(MatmulEdges, APackedMatrixMovesAndOutlivesItsSource) {
  const Tensor a = random_normal({3, 5}, DType::f32, 1);
  Tensor w = random_normal({5, 4}, DType::f32, 2);
  const Tensor expected = product(a, w);
  PackedMatrix packed(w);
  w = Tensor();
  const PackedMatrix moved = std::move(packed);
  EXPECT_EQ(moved.rows(), 5);
  EXPECT_EQ(moved.columns(), 4);
  EXPECT_TRUE(same_bits(product(a, moved), expected));
}

TEST(MatmulEdges, Refuses) {
  Tensor a(DType::f32, {5, 4}), out(DType::f32, {5, 3}), doubles(DType::f64, {5, 3});
  const Tensor w(DType::f32, {4, 3}), wide_w(DType::f64, {4, 3});
  const PackedMatrix packed(w);
  EXPECT_REFUSES(PackedMatrix(wide_w), "[PackedMatrix] w is f64, expected f32, bf16 or f16");
  EXPECT_REFUSES(PackedMatrix(w.view().select(0, 0)),
                 "[PackedMatrix] w has shape (3,), expected 2 dimensions");
  EXPECT_REFUSES(PackedMatrix(ConstTensorView()), "[PackedMatrix] w is not given");
  EXPECT_REFUSES(matmul(out, packed, out),
                 "[matmul] a has shape (5, 3), which does not match w of shape (4, 3)");
  EXPECT_REFUSES(matmul(a, packed, a), "[matmul] out has shape (5, 4), expected (5, 3)");
  EXPECT_REFUSES(matmul(a, packed, {}), "[matmul] out is not given");
  EXPECT_REFUSES(matmul(a, packed, doubles), "[matmul] out is f64, expected f32 as a");
  EXPECT_REFUSES(matmul(Tensor(DType::f64, {5, 4}), packed, doubles),
                 "[matmul] a is f64, expected f32, bf16 or f16");
  EXPECT_REFUSES(matmul(Tensor(DType::f64, {5, 4}), w, doubles), "[matmul] w is f32, expected f64 as a");
  EXPECT_REFUSES(matmul(a, wide_w, out), "[matmul] w is f64, expected f32, bf16 or f16");
  EXPECT_REFUSES(matmul(a, packed, out, {.bias = Tensor(DType::f32, {4})}),
                 "[matmul] bias has shape (4,), expected (3,)");
  EXPECT_REFUSES(matmul(a, packed, out, {.bias = Tensor(DType::f64, {3})}),
                 "[matmul] bias is f64, expected f32, bf16 or f16");
  EXPECT_REFUSES(matmul(a, packed, out, {.residual = a}),
                 "[matmul] residual has shape (5, 4), expected (5, 3)");
  EXPECT_REFUSES(matmul(a, packed, out, {.residual = doubles}),
                 "[matmul] residual is f64, expected f32 as a");
  EXPECT_REFUSES(matmul(Tensor(DType::f32, {4}), packed, out),
                 "[matmul] a has shape (4,), expected 2 to 4 dimensions");
  Tensor square(DType::f32, {4, 4}), large(DType::f32, {6, 3});
  EXPECT_REFUSES(matmul(square, PackedMatrix(square), square), "[matmul] out overlaps a in memory");
  EXPECT_REFUSES(matmul(Tensor(DType::f32, {4, 4}), square, square), "[matmul] out overlaps w in memory");
  EXPECT_REFUSES(matmul(a, packed, out, {.bias = out.view().select(0, 1)}),
                 "[matmul] out overlaps bias in memory");
  EXPECT_REFUSES(matmul(a, packed, large.view().slice(0, 0, 5), {.residual = large.view().slice(0, 1, 6)}),
                 "[matmul] out overlaps residual in memory");
  const TensorView repeated(out.values<float>().data(), {5, 3}, {0, 1});
  EXPECT_REFUSES(matmul(a, packed, repeated), "[matmul] out has strides (0, 1) for shape (5, 3)");
}

TEST(PackedMatrix, TheTransposeIsThatOfTheMatrix) {
  for (const auto& [k, n] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 40}, {16, 32}, {33, 17}, {64, 1}}) {
    const Tensor w = random_normal({k, n}, DType::f32, 1), a = random_normal({5, n}, DType::f32, 2);
    const PackedMatrix turned = PackedMatrix(w).transposed();
    EXPECT_EQ(turned.rows(), n);
    EXPECT_EQ(turned.columns(), k);
    const PackedMatrix packed(w), expected_turned(w.view().transposed(0, 1));
    const PackedMatrix back = turned.transposed();
    EXPECT_TRUE(same_bits(turned.memory(), expected_turned.memory()));
    EXPECT_TRUE(same_bits(back.memory(), packed.memory()));
    Tensor lent(DType::f32, {PackedMatrix::bytes_needed(k, n) / 4});
    const PackedMatrix lent_turned = PackedMatrix(w, lent).transposed();
    EXPECT_TRUE(same_bits(lent_turned.memory(), turned.memory()));
    Tensor found(DType::f32, {5, k}), expected(DType::f64, {5, k});
    matmul(a, turned, found);
    reference::matmul(a, w.view().transposed(0, 1), expected);
    EXPECT_LT(max_abs_difference(found, expected), 1e-5);
  }
  EXPECT_EQ(PackedMatrix(Tensor(DType::f32, {0, 5})).transposed().rows(), 5);
  EXPECT_EQ(PackedMatrix().transposed().columns(), 0);
}

}  // namespace
}  // namespace attend
