#include <attend/blocks.h>
#include <attend/dtype.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"
#include "kernels/blocks/block_products.h"
#include "kernels/blocks/blocks_reference.h"
#include "kernels/blocks/encode_vector.h"
#include "kernels/matmul/matmul.h"
#include "support/compare.h"
#include "support/each_isa.h"
#include "support/random.h"

namespace attend::kernels {
namespace {

constexpr BlockType kTypes[] = {BlockType::q4_0, BlockType::q4_1, BlockType::q8_0, BlockType::q4_k,
                                BlockType::q6_k};

class BlocksKernel : public EachIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, BlocksKernel, testing::ValuesIn(available_isas(Precision::int8)), isa_name);

// A matrix of random bytes whose halves are small numbers: every pattern of a block is possible.
struct Blocks {
  Blocks(BlockType type, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    const std::int64_t count = rows * columns / numbers_of(type);
    bytes.resize(static_cast<std::size_t>(count * bytes_of(type)));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = std::byte(static_cast<unsigned char>(256 * detail::uniform_at(seed, i)));
    view = {type, rows, columns, bytes.data()};
    for (std::int64_t b = 0; b < count; ++b)
      set_halves(b, static_cast<float>(detail::uniform_at(seed + 1, static_cast<std::uint64_t>(b)) - 0.3));
  }
  void set_halves(std::int64_t block, float value) {
    const float16 half = to_float16(value);
    std::byte* const at = bytes.data() + block * bytes_of(view.type);
    std::memcpy(at + (view.type == BlockType::q6_k ? 208 : 0), &half.bits, 2);
    if (view.type == BlockType::q4_1 || view.type == BlockType::q4_k) std::memcpy(at + 2, &half.bits, 2);
  }
  std::vector<std::byte> bytes;
  BlockView view;
};

// Panels begin at multiples of 64 bytes, as the kernels may rely on.
struct Panels {
  explicit Panels(const BlockView& view)
      : type(view.type),
        blocks(view.columns / kBlockDepth),
        columns(view.rows),
        memory(DType::f64, {panel_count(columns) * panel_bytes(type, blocks) / 8}) {
    for (std::int64_t p = 0; p < panel_count(columns); ++p) {
      BlockView rows = view;
      rows.data = view.row(p * kBlockColumns);
      pack_block_panel(rows, std::min(kBlockColumns, view.rows - p * kBlockColumns),
                       data() + p * panel_bytes(type, blocks));
    }
  }
  std::byte* data() { return static_cast<std::byte*>(memory.view().raw()); }
  BlockType type;
  std::int64_t blocks, columns;
  Tensor memory;
};

std::vector<VectorBlock> encoded(const Tensor& rows) {
  const std::int64_t k = rows.size(1), blocks = blocks_for(k);
  std::vector<VectorBlock> all(static_cast<std::size_t>(rows.size(0) * blocks));
  for (std::int64_t r = 0; r < rows.size(0); ++r)
    encode_vector(rows.values<float>().data() + r * k, k, all.data() + r * blocks);
  return all;
}

// Rows [first, last) of the vectors times the panels, into rows that are 3 wider than they need to be.
Tensor products(Panels& panels, const std::vector<VectorBlock>& vectors, std::int64_t first,
                std::int64_t last) {
  constexpr float kUntouched = 12345;
  Tensor out(DType::f32, {last - first, panels.columns + 3});
  for (float& value : out.values<float>()) value = kUntouched;
  block_products({.type = panels.type,
                  .panels = panels.data(),
                  .columns = panels.columns,
                  .blocks = panels.blocks,
                  .vectors = vectors.data() + first * panels.blocks,
                  .rows = last - first,
                  .finish = {.out = out.values<float>().data(), .out_row = panels.columns + 3}});
  const Tensor margin = copy_of(out.view().slice(1, panels.columns, panels.columns + 3));
  for (const float value : margin.values<float>()) EXPECT_EQ(value, kUntouched);
  return copy_of(out.view().slice(1, 0, panels.columns));
}

double largest_number(const BlockView& view) {
  double largest = 0;
  for (std::int64_t r = 0; r < view.rows; ++r) {
    for (std::int64_t i = 0; i < view.columns; ++i)
      largest = std::max(largest, std::abs(number_reference(view, r, i)));
  }
  return largest;
}

// Of scale 1 and no more than 127, so that sums are whole numbers which f32 holds exactly.
std::vector<VectorBlock> whole_vectors(std::int64_t rows, std::int64_t columns, int most) {
  Tensor numbers(DType::f32, {rows, columns});
  for (std::int64_t i = 0; i < numbers.count(); ++i) {
    const bool first = i % kBlockDepth == 0;  // the largest, which makes the scale 1
    numbers.values<float>()[static_cast<std::size_t>(i)] =
        first ? 127.0f : static_cast<float>(most - 37 * i % (2 * most + 1));
  }
  return encoded(numbers);
}

TEST_P(BlocksKernel, VectorsAreRoundedToTheNearestOf255Steps) {
  for (const std::int64_t count : {1, 15, 16, 31, 32, 33, 64, 100}) {
    const Tensor numbers = random_normal({1, count}, DType::f32, 7, 3);
    const std::vector<VectorBlock> blocks = encoded(numbers);
    for (std::int64_t b = 0; b < std::ssize(blocks); ++b) {
      const VectorBlock& block = blocks[static_cast<std::size_t>(b)];
      int sums[2] = {};
      float largest = 0;
      for (std::int64_t i = 0; i < kBlockDepth; ++i) {
        const std::int64_t place = b * kBlockDepth + i;
        const float number = place < count ? numbers.values<float>()[static_cast<std::size_t>(place)] : 0;
        ASSERT_LE(std::abs(number - block.scale * static_cast<float>(block.values[i])),
                  0.5001f * block.scale);
        largest = std::max(largest, std::abs(number));
        sums[i / 16] += block.values[i];
      }
      EXPECT_NEAR(block.scale, largest / 127, 1e-6f * largest);
      EXPECT_EQ(block.weighted, block.scale * static_cast<float>(sums[0] + sums[1]));
      EXPECT_EQ(block.minus_8, -8 * (sums[0] + sums[1]));
      EXPECT_EQ(block.minus_128, -128 * (sums[0] + sums[1]));
      EXPECT_EQ(block.minus_32[0], -32 * sums[0]);
      EXPECT_EQ(block.minus_32[1], -32 * sums[1]);
    }
  }
}

TEST_P(BlocksKernel, ABlockWithoutNumbersIsZeroAndOneThatIsNotFiniteIsNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0f, 1e-40f, std::nanf(""), infinity, -infinity}) {
    Tensor numbers(DType::f32, {1, 64});
    numbers.values<float>()[5] = value;
    numbers.values<float>()[40] = 1;
    const std::vector<VectorBlock> blocks = encoded(numbers);
    for (const std::int8_t number : blocks[0].values) EXPECT_EQ(number, 0);
    EXPECT_EQ(std::isnan(blocks[0].scale), !std::isfinite(value));
    EXPECT_EQ(std::isnan(blocks[0].weighted), !std::isfinite(value));
    EXPECT_EQ(blocks[1].values[8], 127);
  }
}

// Every number of vectors of a tile, and both sides of a panel. The bound is a share of what is added up.
TEST_P(BlocksKernel, AgreesWithTheReferenceAtEverySize) {
  constexpr std::int64_t kMost = 19;
  for (const BlockType type : kTypes) {
    for (const std::int64_t stored : {1, 2, 3}) {
      const std::int64_t k = stored * numbers_of(type);
      const std::vector<VectorBlock> vectors = encoded(random_normal({kMost, k}, DType::f32, 4));
      for (const std::int64_t n : {1, 16, 23}) {
        const Blocks blocks(type, n, k, 3);
        Panels panels(blocks.view);
        std::vector<double> expected;
        for (std::int64_t r = 0; r < kMost; ++r) {
          for (std::int64_t j = 0; j < n; ++j)
            expected.push_back(product_reference(blocks.view, j, vectors.data() + r * panels.blocks));
        }
        const double bound = 2e-6 * std::sqrt(static_cast<double>(k)) * largest_number(blocks.view) * 4;
        for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 19}) {
          const Tensor out = products(panels, vectors, 0, m);
          for (std::int64_t i = 0; i < m * n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            ASSERT_NEAR(out.values<float>()[at], expected[at], bound)
                << name_of(type) << ' ' << k << ' ' << n << ' ' << m << " at " << i;
          }
        }
      }
    }
  }
}

// With scales of 1 there is nothing to round: the largest numbers of each type, times the largest of a
// vector, which is where 16 bits would overflow.
TEST_P(BlocksKernel, SumsAreExact) {
  for (const BlockType type : kTypes) {
    for (const unsigned byte : {0x00u, 0x7fu, 0x80u, 0xffu, 0x0fu, 0xf0u}) {
      Blocks blocks(type, 17, 256, 3);
      for (std::int64_t b = 0; b < 17 * 256 / numbers_of(type); ++b) {
        std::fill_n(blocks.bytes.begin() + b * bytes_of(type), bytes_of(type), std::byte(byte));
        if (type == BlockType::q6_k)
          std::fill_n(blocks.bytes.begin() + b * bytes_of(type) + 192, 16, std::byte(1));
        blocks.set_halves(b, 1);
      }
      Panels panels(blocks.view);
      for (const int most : {127, 5}) {
        const std::vector<VectorBlock> vectors = whole_vectors(3, 256, most);
        const Tensor out = products(panels, vectors, 0, 3);
        for (std::int64_t r = 0; r < 3; ++r) {
          for (std::int64_t j = 0; j < 17; ++j) {
            ASSERT_EQ(out.values<float>()[static_cast<std::size_t>(r * out.size(1) + j)],
                      product_reference(blocks.view, j, vectors.data() + r * panels.blocks))
                << name_of(type) << ' ' << byte;
          }
        }
      }
    }
  }
}

TEST_P(BlocksKernel, ARowDoesNotDependOnItsNeighbours) {
  for (const BlockType type : kTypes) {
    const Blocks blocks(type, 37, 512, 5);
    Panels panels(blocks.view);
    const std::vector<VectorBlock> vectors = encoded(random_normal({19, 512}, DType::f32, 6));
    const Tensor whole = products(panels, vectors, 0, 19);
    for (std::int64_t first = 0; first < 19; ++first) {
      for (std::int64_t last = first + 1; last <= 19; ++last) {
        ASSERT_TRUE(
            same_bits(products(panels, vectors, first, last), copy_of(whole.view().slice(0, first, last))))
            << name_of(type) << ' ' << first << ' ' << last;
      }
    }
  }
}

TEST_P(BlocksKernel, NaNStaysInItsRowAndInItsColumn) {
  for (const BlockType type : kTypes) {
    Blocks blocks(type, 20, 256, 5);
    blocks.set_halves(3 * 256 / numbers_of(type), std::nanf(""));  // in stored row 3
    Panels panels(blocks.view);
    Tensor numbers = random_normal({5, 256}, DType::f32, 6);
    numbers.values<float>()[2 * 256 + 100] = std::numeric_limits<float>::infinity();
    const Tensor out = products(panels, encoded(numbers), 0, 5);
    for (std::int64_t r = 0; r < 5; ++r) {
      for (std::int64_t j = 0; j < 20; ++j) {
        const float got = out.values<float>()[static_cast<std::size_t>(r * out.size(1) + j)];
        ASSERT_EQ(std::isnan(got), r == 2 || j == 3) << name_of(type) << ' ' << r << ' ' << j;
      }
    }
  }
}

TEST(Blocks, AMatrixEncodedAsQ8_0IsWithinHalfAStep) {
  const Tensor numbers = random_normal({1, 320}, DType::f32, 9);
  std::vector<std::byte> bytes(static_cast<std::size_t>(10 * bytes_of(BlockType::q8_0)));
  encode_q8_0(numbers.values<float>().data(), 320, bytes.data());
  const BlockView view{BlockType::q8_0, 1, 320, bytes.data()};
  for (std::int64_t b = 0; b < 10; ++b) {
    double largest = 0;
    for (std::int64_t i = 32 * b; i < 32 * (b + 1); ++i)
      largest = std::max(largest,
                         std::abs(static_cast<double>(numbers.values<float>()[static_cast<std::size_t>(i)])));
    for (std::int64_t i = 32 * b; i < 32 * (b + 1); ++i) {
      EXPECT_NEAR(number_reference(view, 0, i), numbers.values<float>()[static_cast<std::size_t>(i)],
                  0.51 * largest / 127 + largest * 0x1p-11);  // a step, and the rounding of its scale
    }
  }
}

}  // namespace
}  // namespace attend::kernels
