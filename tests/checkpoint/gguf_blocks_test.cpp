// Each quantised type of GGUF, bit for bit what the `gguf` package makes of it (tools/golden/make_gguf.py).
#include <attend/checkpoint.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "io/crc32.h"
#include "support/file_error.h"
#include "support/gguf_bytes.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

struct BlockForm {
  std::uint32_t type;
  std::uint64_t elements, bytes;
  std::vector<std::size_t> halves;
};

const std::map<std::string, BlockForm> kBlockForms = {
    {"Q4_0", {2, 32, 18, {0}}},      {"Q4_1", {3, 32, 20, {0, 2}}},    {"Q5_0", {6, 32, 22, {0}}},
    {"Q5_1", {7, 32, 24, {0, 2}}},   {"Q8_0", {8, 32, 34, {0}}},       {"Q2_K", {10, 256, 84, {80, 82}}},
    {"Q3_K", {11, 256, 110, {108}}}, {"Q4_K", {12, 256, 144, {0, 2}}}, {"Q5_K", {13, 256, 176, {0, 2}}},
    {"Q6_K", {14, 256, 210, {208}}}};

constexpr std::uint64_t kPieceBlocks = 4096;

std::string random_block_bytes(std::uint64_t seed, std::size_t count) {
  std::string bytes;
  bytes.reserve(count + 8);
  for (std::uint64_t i = 1; bytes.size() < count; ++i) {
    std::uint64_t z = seed * 0x632BE59BD9B4E019 + i * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    char eight[8];
    for (int k = 0; k < 8; ++k) eight[k] = static_cast<char>(static_cast<unsigned char>(z >> (8 * k)));
    bytes.append(eight, 8);
  }
  bytes.resize(count);
  return bytes;
}

std::string golden_blocks(const BlockForm& form, const std::string& kind, std::size_t at,
                          std::uint64_t piece) {
  std::string bytes = random_block_bytes(piece + 1, kPieceBlocks * form.bytes);
  for (std::uint64_t b = 0; b < kPieceBlocks; ++b) {
    char* const block = bytes.data() + b * form.bytes;
    const std::uint64_t index = piece * kPieceBlocks + b;
    if (kind == "half") {
      block[at] = static_cast<char>(index & 255);
      block[at + 1] = static_cast<char>(index >> 8);
    } else if (kind == "byte") {
      for (const std::size_t half : form.halves) block[half + 1] = static_cast<char>(block[half + 1] & 0xBF);
      block[at] = static_cast<char>(index % 256);
    }
  }
  return bytes;
}

std::uint32_t checksum_of(ConstTensorView view) {
  std::vector<float> values(static_cast<std::size_t>(view.count()));
  std::memcpy(values.data(), view.raw(), values.size() * sizeof(float));
  const float nan = std::bit_cast<float>(std::uint32_t{0x7FC00000});
  for (float& value : values) {
    if (std::isnan(value)) value = nan;
  }
  return io::crc32(0, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

TEST(GgufBlocks, HaveTheBitsOfTheGgufPackage) {
  const TemporaryFolder folder;
  std::ifstream golden(ATTEND_GOLDEN_GGUF "/blocks.txt");
  std::string name, kind;
  std::size_t at = 0;
  std::uint64_t piece = 0;
  std::uint32_t expected = 0;
  int lines = 0;
  std::map<std::string, int> compared;
  while (golden >> name >> kind >> at >> piece >> std::hex >> expected >> std::dec) {
    if (kSanitized && lines++ % 8 != 0) continue;
    const BlockForm& form = kBlockForms.at(name);
    GgufBytes file;
    file.tensor("t", {form.elements * 64, kPieceBlocks / 64}, form.type,
                golden_blocks(form, kind, at, piece));
    const Checkpoint weights = Checkpoint::open(folder.write("blocks.gguf", file.bytes()));
    EXPECT_EQ(weights.info("t").type, name);
    const ConstTensorView values = weights.tensor("t");
    EXPECT_EQ(values.dtype(), DType::f32);
    EXPECT_EQ(values.shape(), (Dims{64, static_cast<std::int64_t>(form.elements * 64)}));
    EXPECT_EQ(checksum_of(values), expected) << name << " " << kind << " " << at << " " << piece;
    ++compared[name];
  }
  EXPECT_EQ(compared.size(), kBlockForms.size());
}

// Whatever the number of blocks: pieces are decoded side by side.
TEST(GgufBlocks, AnyNumberOfBlocks) {
  const TemporaryFolder folder;
  for (const std::uint64_t blocks : {1, 2, 3, 2047, 2048, 2049, 4097}) {
    const std::string bytes = random_block_bytes(7, blocks * 34);
    GgufBytes file;
    file.tensor("t", {32 * blocks}, 8, bytes);
    const Checkpoint weights = Checkpoint::open(folder.write("blocks.gguf", file.bytes()));
    const auto* const values = static_cast<const float*>(weights.tensor("t").raw());
    for (std::uint64_t i = 0; i < 32 * blocks; ++i) {
      const char* const block = bytes.data() + i / 32 * 34;
      const auto low = static_cast<unsigned char>(block[0]), high = static_cast<unsigned char>(block[1]);
      const float scale = to_float(float16{static_cast<std::uint16_t>(low | high << 8)});
      const float expected = static_cast<float>(static_cast<signed char>(block[2 + i % 32])) * scale;
      ASSERT_TRUE(values[i] == expected || std::isnan(expected)) << blocks << " " << i;
    }
  }
}

// Halves and bfloat16 are views, which widen as the package does.
TEST(GgufBlocks, SixteenBitTypesAreLookedAtWhereTheyLie) {
  const TemporaryFolder folder;
  std::string all;
  for (std::uint64_t i = 0; i < 65536; ++i) all += gguf_number(i, 2);
  GgufBytes file;
  file.tensor("f16", {256, 256}, 1, all).tensor("bf16", {65536}, 30, all);
  const Checkpoint weights = Checkpoint::open(folder.write("halves.gguf", file.bytes()));
  EXPECT_EQ(weights.tensor("f16").dtype(), DType::f16);
  EXPECT_EQ(weights.tensor("bf16").dtype(), DType::bf16);
  EXPECT_EQ(std::memcmp(weights.tensor("f16").raw(), all.data(), all.size()), 0);
  EXPECT_EQ(std::memcmp(weights.tensor("bf16").raw(), all.data(), all.size()), 0);
}

TEST(GgufBlocks, TypesThatAreNotDecodedAreRefusedByName) {
  const TemporaryFolder folder;
  GgufBytes file;
  file.tensor("a", {256}, 16, std::string(66, 'x')).tensor("b", {32}, 39, std::string(17, 'x'));
  file.tensor("c", {2}, 0, gguf_f32(1) + gguf_f32(2));
  const Checkpoint weights = Checkpoint::open(folder.write("types.gguf", file.bytes()));
  EXPECT_EQ(weights.info("a").type, "IQ2_XXS");
  EXPECT_FILE_ERROR(weights.tensor("a"), "a", "holds IQ2_XXS, which attend does not compute with");
  EXPECT_FILE_ERROR(weights.tensor("b"), "b", "holds MXFP4, which attend does not compute with");
  EXPECT_EQ(weights.tensor("c").data<float>()[1], 2);
}

}  // namespace
}  // namespace attend
