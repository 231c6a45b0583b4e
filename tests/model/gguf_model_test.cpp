// GGUF files of each architecture compute what transformers computes from the same weights
// (tools/golden/make_gguf_models.py).
#include <attend/checkpoint.h>
#include <attend/gguf.h>
#include <attend/model_files.h>
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/compare.h"
#include "support/file_error.h"
#include "support/gguf_bytes.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

std::filesystem::path gguf_golden(const std::string& name) {
  return std::filesystem::path(ATTEND_GOLDEN_GGUF) / "models" / name;
}

class EachGgufModel : public testing::TestWithParam<const char*> {};

TEST_P(EachGgufModel, HasTheVectorsOfTransformers) {
  const std::string name = GetParam();
  const ModelFiles files = find_model(gguf_golden(name + ".gguf").string());
  const ModelDescription description = read_model_description(files.config);
  const Transformer transformer(description, tensors_of(Checkpoint::open(files.weights)));
  const Checkpoint golden = Checkpoint::open(gguf_golden(name + ".safetensors"));
  TokenBatch batch;
  batch.ends.clear();
  for (const double id : values_of(golden.tensor("ids"))) batch.ids.push_back(static_cast<std::int32_t>(id));
  for (const double end : values_of(golden.tensor("ends")))
    batch.ends.push_back(static_cast<std::int64_t>(end));
  const std::vector<double> hidden = values_of(transformer.forward(batch)),
                            expected = values_of(golden.tensor("hidden"));
  ASSERT_EQ(hidden.size(), expected.size());
  double error = 0;
  for (std::size_t i = 0; i < hidden.size(); ++i) error = std::max(error, std::abs(hidden[i] - expected[i]));
  EXPECT_LE(error, 1.5 * values_of(golden.tensor("error"))[0]);
}

INSTANTIATE_TEST_SUITE_P(Architectures, EachGgufModel,
                         testing::Values("llama", "llama3", "qwen2", "qwen3", "gemma2", "gemma3", "phi3",
                                         "gpt2", "bert", "nomic-bert"),
                         [](const auto& name) {
                           std::string text = name.param;
                           std::erase(text, '-');
                           return text;
                         });

TEST(GgufModel, SaysHowTextsArePooled) {
  EXPECT_EQ(find_model(gguf_golden("bert.gguf").string()).pooling, std::vector{Pooling::cls});
  EXPECT_EQ(find_model(gguf_golden("nomic-bert.gguf").string()).pooling, std::vector{Pooling::mean});
  EXPECT_TRUE(find_model(gguf_golden("llama.gguf").string()).pooling.empty());
}

// Keys of a llama whose only layer is as small as can be, one of them replaced.
GgufBytes tiny_llama(const std::string& replaced = "", std::uint64_t value = 0) {
  GgufBytes file;
  file.string("general.architecture", "llama").f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  const std::vector<std::pair<std::string, std::uint64_t>> sizes = {
      {"context_length", 8},      {"embedding_length", 4},     {"block_count", 1},
      {"feed_forward_length", 6}, {"attention.head_count", 2}, {"attention.head_count_kv", 1},
      {"expert_count", 0},        {"rope.dimension_count", 2}};
  for (const auto& [key, size] : sizes) file.u32("llama." + key, key == replaced ? value : size);
  const auto add = [&](const std::string& name, std::uint64_t columns, std::uint64_t rows) {
    file.tensor(name + ".weight", {columns, rows}, 0, std::string(4 * columns * rows, '\0'));
  };
  add("token_embd", 4, 10);
  add("blk.0.attn_q", 4, 4);
  add("blk.0.attn_k", 4, 2);
  add("blk.0.attn_v", 4, 2);
  add("blk.0.attn_output", 4, 4);
  add("blk.0.ffn_gate", 4, 6);
  add("blk.0.ffn_up", 4, 6);
  add("blk.0.ffn_down", 6, 4);
  for (const char* const norm : {"blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"})
    file.tensor(std::string(norm) + ".weight", {4}, 0, std::string(16, '\0'));
  return file;
}

TEST(GgufModel, SizesThatMakeNoModelAreRefused) {
  const TemporaryFolder folder;
  const auto opens = [&](const GgufBytes& file) {
    const auto path = folder.write("model.gguf", file.bytes());
    const ModelFiles files = find_model(path.string());
    Transformer(read_model_description(files.config), tensors_of(Checkpoint::open(files.weights)));
  };
  EXPECT_NO_THROW(opens(tiny_llama()));
  EXPECT_FILE_ERROR(opens(tiny_llama("block_count", 0)), "llama.block_count",
                    "expected a whole number from 1");
  EXPECT_FILE_ERROR(opens(tiny_llama("block_count", 2)), "llama.block_count",
                    "there is no tensor of layer 1");
  EXPECT_FILE_ERROR(opens(tiny_llama("block_count", 0xFFFFFFFF)), "llama.block_count",
                    "expected a whole number");
  EXPECT_FILE_ERROR(opens(tiny_llama("attention.head_count", 0)), "llama.attention.head_count", "is 0");
  EXPECT_FILE_ERROR(opens(tiny_llama("attention.head_count", 3)), "llama.attention.head_count",
                    "not a divisor of 4");
  EXPECT_FILE_ERROR(opens(tiny_llama("attention.head_count_kv", 3)), "llama.attention.head_count_kv",
                    "not a divisor of the 2 heads");
  EXPECT_FILE_ERROR(opens(tiny_llama("rope.dimension_count", 3)), "llama.rope.dimension_count",
                    "expected an even");
  EXPECT_FILE_ERROR(opens(tiny_llama("rope.dimension_count", 4)), "llama.rope.dimension_count", "up to 2");
  EXPECT_FILE_ERROR(opens(tiny_llama("expert_count", 8)), "llama.expert_count", "mixtures of experts");
  EXPECT_FILE_ERROR(opens(tiny_llama("embedding_length", 8)), "token_embd.weight", "its shape is (10, 4)");
  EXPECT_FILE_ERROR(opens(tiny_llama("feed_forward_length", 1 << 24)), "blk.0.ffn_gate.weight",
                    "its shape is (6, 4)");
  EXPECT_FILE_ERROR(opens(GgufBytes().string("general.architecture", "mamba")), "general.architecture",
                    "\"mamba\" is not an architecture that attend supports: llama, qwen2");
  EXPECT_FILE_ERROR(opens(GgufBytes().string("general.architecture", "llama")),
                    "llama.attention.layer_norm_rms_epsilon", "is not there");
  EXPECT_FILE_ERROR(opens(GgufBytes()), "general.architecture", "is not there");
}

TEST(GgufModel, AFileThatIsNotOneIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder.write("model.bin", "not a model");
  EXPECT_FILE_ERROR(find_model(path.string()), "", "is a PyTorch file; attend reads safetensors and GGUF");
}

}  // namespace
}  // namespace attend
