// Matrices in blocks: the product of what is stored with what the vectors were rounded to, whatever stands
// side by side.
#include <attend/blocks.h>
#include <attend/gelu.h>
#include <attend/isa.h>
#include <attend/matmul.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/random.h"
#include "kernels/blocks/blocks_reference.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/random.h"
#include "support/refuses.h"

namespace attend {
namespace {

class PackedBlocks : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, PackedBlocks, testing::ValuesIn(available_isas(Precision::int8)), isa_name);

// Random bytes, with scales that are small numbers.
struct StoredPart {
  StoredPart(BlockType type, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    const std::int64_t size = bytes_of(type), count = rows * columns / numbers_of(type);
    bytes.resize(static_cast<std::size_t>(count * size));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = std::byte(static_cast<unsigned char>(256 * detail::uniform_at(seed, i)));
    for (std::int64_t b = 0; b < count; ++b) {
      const float16 half =
          to_float16(static_cast<float>(0.01 * detail::uniform_at(seed + 1, static_cast<std::uint64_t>(b))));
      std::byte* const at = bytes.data() + b * size;
      std::memcpy(at + (type == BlockType::q6_k ? 208 : 0), &half.bits, 2);
      if (type == BlockType::q4_1 || type == BlockType::q4_k) std::memcpy(at + 2, &half.bits, 2);
    }
    view = {type, rows, columns, bytes.data()};
  }
  std::vector<std::byte> bytes;
  BlockView view;
};

// (k, n) in float64.
Tensor numbers_of_parts(std::span<const BlockView> parts) {
  std::int64_t n = 0;
  for (const BlockView& part : parts) n += part.rows;
  Tensor w(DType::f64, {parts[0].columns, n});
  std::int64_t column = 0;
  for (const BlockView& part : parts) {
    for (std::int64_t row = 0; row < part.rows; ++row, ++column) {
      for (std::int64_t i = 0; i < part.columns; ++i)
        w.values<double>()[static_cast<std::size_t>(i * n + column)] =
            kernels::number_reference(part, row, i);
    }
  }
  return w;
}

// Whole numbers up to 127, which is in every 32 of them: nothing is rounded in int8.
Tensor whole_rows(std::int64_t m, std::int64_t k) {
  Tensor rows(DType::f32, {m, k});
  for (std::int64_t i = 0; i < rows.count(); ++i) {
    const auto number = static_cast<float>(
        static_cast<int>(255 * detail::uniform_at(5, static_cast<std::uint64_t>(i))) - 127);
    rows.values<float>()[static_cast<std::size_t>(i)] = i % k % 32 == 3 ? 127.0f : number;
  }
  return rows;
}

Tensor reference_product(const Tensor& a, const Tensor& w) {
  Tensor out(DType::f64, {a.size(0), w.size(1)});
  matmul(copy_of(a, DType::f64), w.view(), out);
  return out;
}

Tensor block_product(ConstTensorView a, const PackedMatrix& w, const MatmulEpilogue& epilogue = {}) {
  Tensor out(a.dtype(), {a.size(0), w.columns()});
  matmul(a, w, out, epilogue);
  return out;
}

TEST_P(PackedBlocks, PartsOfSeveralTypesStandSideBySide) {
  const StoredPart q(BlockType::q4_k, 48, 512, 1), k(BlockType::q8_0, 16, 512, 2),
      v(BlockType::q6_k, 32, 512, 3), more(BlockType::q4_0, 16, 512, 4), last(BlockType::q4_1, 21, 512, 5);
  const std::vector<BlockView> parts = {q.view, k.view, v.view, more.view, last.view};
  const PackedMatrix packed(parts);
  EXPECT_EQ(packed.rows(), 512);
  EXPECT_EQ(packed.columns(), 133);
  EXPECT_EQ(packed.packed_as(), PackedAs::blocks);
  const Tensor w = numbers_of_parts(parts);
  for (const std::int64_t m : {1, 3, 17, 150}) {
    const Tensor a = whole_rows(m, 512);
    const Tensor expected = reference_product(a, w);
    double largest = 0;
    for (const double value : expected.values<double>()) largest = std::max(largest, std::abs(value));
    EXPECT_LT(max_abs_difference(block_product(a, packed), expected), 2e-6 * largest) << m;
  }
}

TEST_P(PackedBlocks, BiasActivationAndResidualFollow) {
  const StoredPart part(BlockType::q4_1, 100, 96, 1);
  const PackedMatrix packed(std::span(&part.view, 1));
  const Tensor a = random_normal({5, 96}, DType::f32, 2), bias = random_normal({100}, DType::f32, 3),
               residual = random_normal({5, 100}, DType::f32, 4);
  const Tensor plain = block_product(a, packed),
               all = block_product(a, packed,
                                   {.bias = bias, .activation = Activation::gelu, .residual = residual});
  Tensor expected = copy_of(plain, DType::f64);
  for (std::int64_t i = 0; i < 500; ++i)
    expected.values<double>()[static_cast<std::size_t>(i)] +=
        bias.values<float>()[static_cast<std::size_t>(i % 100)];
  gelu(expected, expected);
  for (std::size_t i = 0; i < 500; ++i) expected.values<double>()[i] += residual.values<float>()[i];
  EXPECT_LT(max_abs_difference(all, expected), 1e-5);
  Tensor in_place = copy_of(residual);
  matmul(a, packed, in_place, {.bias = bias, .activation = Activation::gelu, .residual = in_place});
  EXPECT_TRUE(same_bits(in_place, all));
}

TEST_P(PackedBlocks, ARowHasTheSameBitsInAnyBatchAndOnAnyNumberOfThreads) {
  const StoredPart part(BlockType::q4_1, 400, 256, 1);
  const PackedMatrix packed(std::span(&part.view, 1));
  const Tensor a = random_normal({300, 256}, DType::f32, 2);
  const Tensor whole = block_product(a, packed);
  for (const int count : {1, 3}) {
    set_threads(count);
    EXPECT_TRUE(same_bits(block_product(a, packed), whole));
    for (const std::int64_t row : {0, 131, 299}) {
      EXPECT_TRUE(same_bits(block_product(copy_of(a.view().slice(0, row, row + 1)), packed),
                            copy_of(whole.view().slice(0, row, row + 1))));
    }
  }
  set_threads(0);
}

// Any matrix can be held as Q8_0: of any depth, and as inexact as 8 bits are.
TEST_P(PackedBlocks, NumbersAreHeldAsQ8_0) {
  for (const std::int64_t k : {1, 31, 32, 33, 100}) {
    const Tensor w = random_normal({k, 37}, DType::f32, 1), a = random_normal({3, k}, DType::f32, 2);
    const PackedMatrix packed(w, PackedAs::blocks);
    const Tensor expected = reference_product(a, copy_of(w, DType::f64));
    EXPECT_LT(max_abs_difference(block_product(a, packed), expected),
              0.03 * std::sqrt(static_cast<double>(k)))
        << k;
    const Tensor strided = copy_of(w.view().transposed(0, 1));
    const PackedMatrix again(strided.view().transposed(0, 1), PackedAs::blocks);
    EXPECT_TRUE(same_bits(again.memory(), packed.memory()));
  }
}

TEST(PackedBlocksTransposed, HasTheNumbersThatAreStored) {
  for (const BlockType type :
       {BlockType::q4_0, BlockType::q4_1, BlockType::q8_0, BlockType::q4_k, BlockType::q6_k}) {
    const StoredPart first(type, 16, 512, 1), second(BlockType::q8_0, 5, 512, 2);
    const std::vector<BlockView> parts = {first.view, second.view};
    const PackedMatrix transposed = PackedMatrix(parts).transposed();
    Tensor identity(DType::f32, {21, 21});
    for (std::size_t i = 0; i < 21; ++i) identity.values<float>()[22 * i] = 1;
    const Tensor w = numbers_of_parts(parts);
    EXPECT_LT(max_abs_difference(block_product(identity, transposed), w.view().transposed(0, 1)), 1e-5)
        << name_of(type);
  }
}

TEST(PackedBlocksRefusals, PartsThatDoNotFit) {
  const StoredPart part(BlockType::q4_1, 20, 64, 1), wide(BlockType::q4_1, 16, 96, 1);
  const auto packed = [](std::vector<BlockView> parts) { return PackedMatrix(parts); };
  EXPECT_REFUSES(packed({}), "[PackedMatrix] there are no parts");
  EXPECT_REFUSES(packed({part.view, part.view}),
                 "[PackedMatrix] part 0 has 20 rows, expected a multiple of 16");
  EXPECT_REFUSES(packed({wide.view, part.view}), "[PackedMatrix] part 1 has 64 columns, and part 0 has 96");
  BlockView odd = part.view;
  odd.columns = 48;
  EXPECT_REFUSES(packed({odd}), "[PackedMatrix] rows of 48 numbers are not whole blocks of Q4_1");
  Tensor little(DType::f32, {16});
  EXPECT_REFUSES(PackedMatrix(std::span(&part.view, 1), little),
                 "[PackedMatrix] memory has 64 bytes, expected ");
}

}  // namespace
}  // namespace attend
