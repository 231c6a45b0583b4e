// A GGUF model under --precision int8: its matrices stay in their blocks, and what it computes stays near to
// f32.
#include <attend/checkpoint.h>
#include <attend/gguf.h>
#include <attend/matmul.h>
#include <attend/model_files.h>
#include <attend/token_head.h>
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/random.h"
#include "support/compare.h"
#include "support/file_error.h"
#include "support/gguf_bytes.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

struct StoredType {
  std::uint64_t number, elements, bytes;
  std::vector<std::size_t> halves;
};
const StoredType kF32{0, 1, 4, {}}, kQ4_0{2, 32, 18, {0}}, kQ4_1{3, 32, 20, {0, 2}}, kQ5_0{6, 32, 22, {0}},
    kQ8_0{8, 32, 34, {0}}, kQ4_K{12, 256, 144, {0, 2}}, kQ6_K{14, 256, 210, {208}};

// Random bytes whose scales make numbers of a size near 0.05.
std::string random_tensor(const StoredType& type, std::uint64_t elements, std::uint64_t seed) {
  if (type.number == 0) {
    std::string bytes;
    for (std::uint64_t i = 0; i < elements; ++i)
      bytes += gguf_f32(static_cast<float>(0.05 * detail::normal_at(seed, i)));
    return bytes;
  }
  std::string bytes(elements / type.elements * type.bytes, ' ');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(static_cast<unsigned char>(256 * detail::uniform_at(seed, i)));
  const float step = type.number == 8    ? 0.001f
                     : type.number == 14 ? 2e-5f
                     : type.number == 12 ? 2e-4f
                                         : 0.01f;
  for (std::size_t block = 0; block < bytes.size(); block += type.bytes) {
    for (std::size_t h = 0; h < type.halves.size(); ++h) {
      const float16 half = to_float16(h == 0 ? step : type.number == 3 ? -8 * step : 8 * step);
      bytes[block + type.halves[h]] = static_cast<char>(half.bits & 255);
      bytes[block + type.halves[h] + 1] = static_cast<char>(half.bits >> 8);
    }
  }
  return bytes;
}

struct Types {
  StoredType words, q, k, v, out, up, down;
};

// A llama of two layers: 256 wide, 4 heads on 2 of 64, 512 inside, 300 words.
GgufBytes llama_of(const Types& types) {
  GgufBytes file;
  file.string("general.architecture", "llama").f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  for (const auto& [key, size] :
       std::vector<std::pair<std::string, std::uint64_t>>{{"context_length", 64},
                                                          {"embedding_length", 256},
                                                          {"block_count", 2},
                                                          {"feed_forward_length", 512},
                                                          {"attention.head_count", 4},
                                                          {"attention.head_count_kv", 2},
                                                          {"rope.dimension_count", 64}})
    file.u32("llama." + key, size);
  std::uint64_t seed = 1;
  const auto add = [&](const std::string& name, std::uint64_t columns, std::uint64_t rows,
                       const StoredType& type) {
    file.tensor(name + ".weight", {columns, rows}, type.number, random_tensor(type, columns * rows, seed++));
  };
  const auto ones = [&](const std::string& name) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += gguf_f32(1);
    file.tensor(name + ".weight", {256}, 0, bytes);
  };
  add("token_embd", 256, 300, types.words);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    add(layer + "attn_q", 256, 256, types.q);
    add(layer + "attn_k", 256, 128, types.k);
    add(layer + "attn_v", 256, 128, types.v);
    add(layer + "attn_output", 256, 256, types.out);
    add(layer + "ffn_gate", 256, 512, types.up);
    add(layer + "ffn_up", 256, 512, types.up);
    add(layer + "ffn_down", 512, 256, types.down);
    ones(layer + "attn_norm");
    ones(layer + "ffn_norm");
  }
  ones("output_norm");
  return file;
}

const std::vector<Types> kModels = {
    {kQ8_0, kQ4_1, kQ4_1, kQ4_1, kQ4_1, kQ4_1, kQ4_1},  // as SmolLM2 is stored
    {kQ6_K, kQ4_K, kQ4_K, kQ6_K, kQ4_K, kQ4_K, kQ6_K},  // what is called Q4_K_M
    {kQ4_0, kQ4_0, kQ8_0, kQ5_0, kQ5_0, kF32, kQ4_0},   // with types that are not multiplied in blocks
};

struct Opened {
  explicit Opened(const std::filesystem::path& path, Precision precision)
      : files(find_model(path.string())),
        checkpoint(Checkpoint::open(files.weights)),
        description(read_model_description(files.config)),
        transformer(description, tensors_of(checkpoint), {.precision = precision}),
        head(TokenHead::find(description, tensors_of(checkpoint), {.precision = precision})->for_writing()) {}
  ModelFiles files;
  Checkpoint checkpoint;
  ModelDescription description;
  Transformer transformer;
  TokenHead head;
};

std::vector<std::int32_t> some_ids(std::int64_t count) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>((7 + 37 * i) % 300));
  return ids;
}

// Root mean square of the difference, as a share of that of the expected.
double relative_error(ConstTensorView found, ConstTensorView expected) {
  const std::vector<double> a = values_of(found), b = values_of(expected);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(error / size);
}

TEST(BlocksModel, IsNearToF32) {
  const TemporaryFolder folder;
  for (const Types& types : kModels) {
    const auto path = folder.write("model.gguf", llama_of(types).bytes());
    const Opened exact(path, Precision::f32), blocks(path, Precision::int8);
    TokenBatch batch;
    batch.add(some_ids(20));
    const Tensor expected = exact.transformer.forward(batch), found = blocks.transformer.forward(batch);
    EXPECT_LT(relative_error(found, expected), 0.02);
    EXPECT_GT(relative_error(found, expected), 1e-5);  // else it would be f32
    EXPECT_LT(relative_error(blocks.head.next_logits(expected), exact.head.next_logits(expected)), 0.01);
    // The table is the same, however it is kept.
    EXPECT_TRUE(
        same_bits(blocks.transformer.word_rows(some_ids(5)), exact.transformer.word_rows(some_ids(5))));
    EXPECT_EQ(blocks.head.direction(17), exact.head.direction(17));
    const std::vector<double> place(256, 0.1);
    EXPECT_EQ(blocks.head.logits(place), exact.head.logits(place));
  }
}

TEST(BlocksModel, ATextHasTheSameBitsInAnyBatchAndTokenByToken) {
  const TemporaryFolder folder;
  const Opened model(folder.write("model.gguf", llama_of(kModels[1]).bytes()), Precision::int8);
  const std::vector<std::int32_t> ids = some_ids(12);
  TokenBatch alone, several;
  alone.add(ids);
  several.add(some_ids(30));
  several.add(ids);
  const Tensor one = model.transformer.forward(alone), all = model.transformer.forward(several);
  EXPECT_TRUE(same_bits(one, copy_of(all.view().slice(0, 30, 42))));
  const Tensor logits = model.head.next_logits(one);
  for (const std::int64_t row : {0, 5, 11}) {
    EXPECT_TRUE(same_bits(model.head.next_logits(copy_of(one.view().slice(0, row, row + 1))),
                          copy_of(logits.view().slice(0, row, row + 1))));
  }
}

TEST(BlocksModel, WritesOverACacheOfAnyType) {
  const TemporaryFolder folder;
  const Opened model(folder.write("model.gguf", llama_of(kModels[0]).bytes()), Precision::f32);
  const std::vector<std::int32_t> ids = some_ids(30);
  TokenBatch batch;
  batch.add(ids);
  const Tensor expected = model.transformer.forward(batch);
  std::int64_t f32_bytes = 0;
  for (const auto& [type, bound, share] :
       std::vector<std::tuple<CacheType, double, double>>{{CacheType::f32, 1e-5, 1},
                                                          {CacheType::f16, 1e-3, 0.5},
                                                          {CacheType::bf16, 1e-2, 0.5},
                                                          {CacheType::int8, 2e-2, 0.27}}) {
    TransformerCache cache(model.description, type);
    model.transformer.read(std::span(ids).first(20), cache);
    Tensor last;
    for (std::size_t i = 20; i < 30; ++i) last = model.transformer.read(std::span(ids).subspan(i, 1), cache);
    EXPECT_LT(relative_error(last, expected.view().slice(0, 29, 30)), bound) << name_of(type);
    if (type == CacheType::f32) f32_bytes = cache.bytes();
    EXPECT_NEAR(static_cast<double>(cache.bytes()), share * static_cast<double>(f32_bytes),
                0.01 * static_cast<double>(f32_bytes));
  }
}

TEST(BlocksModel, BlocksAreThoseThatTheFileDecodes) {
  const TemporaryFolder folder;
  for (const Types& types : kModels) {
    const Checkpoint file = Checkpoint::open(folder.write("model.gguf", llama_of(types).bytes()));
    for (const std::string& name : file.names()) {
      const std::optional<StoredBlocks> stored = file.blocks(name);
      EXPECT_EQ(stored.has_value(), file.info(name).type == "Q4_0" || file.info(name).type == "Q4_1" ||
                                        file.info(name).type == "Q8_0" || file.info(name).type == "Q4_K" ||
                                        file.info(name).type == "Q6_K");
      if (!stored || stored->view.rows != 256) continue;
      Tensor identity(DType::f32, {256, 256});
      for (std::size_t i = 0; i < 256; ++i) identity.values<float>()[257 * i] = 1;
      Tensor rows(DType::f32, {256, stored->view.columns});
      matmul(identity, PackedMatrix(std::span(&stored->view, 1)).transposed(), rows);
      EXPECT_LT(max_abs_difference(rows, file.tensor(name)), 1e-6) << name;
    }
  }
}

TEST(BlocksModel, AFileThatWasCutShortIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder.write("model.gguf", llama_of(kModels[0]).bytes());
  const Checkpoint file = Checkpoint::open(path);
  const ModelDescription description = read_model_description(find_model(path.string()).config);
  const Transformer model(description, tensors_of(file), {.precision = Precision::int8});
  std::filesystem::resize_file(path, 5000);
  EXPECT_FILE_ERROR(file.blocks("blk.0.attn_q.weight"), "", "was cut short");
  EXPECT_FILE_ERROR(Transformer(description, tensors_of(file), {.precision = Precision::int8}), "",
                    "was cut short");
  TransformerCache cache(description);
  model.read(some_ids(1), cache);  // a row of the table that is no longer there: zeros, and no signal
  EXPECT_FILE_ERROR(file.require_intact(), "", "was cut short");
}

}  // namespace
}  // namespace attend
