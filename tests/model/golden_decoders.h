// The golden checkpoints of the decoder families, small and random (tools/golden/make_decoders.py).
#pragma once

#include <attend/checkpoint.h>
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/compare.h"

namespace attend {

inline constexpr const char* kGoldenDecoders[] = {
    "llama", "llama-llama3",    "llama-linear", "llama-dynamic", "llama-yarn", "mistral",
    "qwen2", "qwen2-both-ways", "qwen3",        "gemma2",        "gemma3",     "gemma3-both-ways",
    "phi3",  "phi3-long",       "phi3-partial", "olmo2",         "gpt_neox",   "gpt_neox-serial"};

class EachGoldenDecoder : public testing::TestWithParam<const char*> {
 protected:
  const std::filesystem::path folder = std::filesystem::path(ATTEND_GOLDEN_DECODERS) / GetParam();
  const ModelDescription config = read_model_description(folder / "config.json");
  const TensorSource tensors = tensors_of(Checkpoint::open(folder));
  const Checkpoint golden = Checkpoint::open(folder / "golden.safetensors");

  std::vector<std::int64_t> integers(const std::string& name) const {
    std::vector<std::int64_t> all;
    for (const double value : values_of(golden.tensor(name))) all.push_back(static_cast<std::int64_t>(value));
    return all;
  }
  // Texts of 7, 1, 19 and 46 tokens; prompts of 3, 9, 1, 14 and 6.
  TokenBatch texts(const std::string& ids = "ids", const std::string& ends = "ends") const {
    TokenBatch batch;
    for (const std::int64_t id : integers(ids)) batch.ids.push_back(static_cast<std::int32_t>(id));
    batch.ends = integers(ends);
    return batch;
  }
  std::vector<std::vector<std::int32_t>> prompts() const {
    const TokenBatch batch = texts("prompts", "prompt_ends");
    std::vector<std::vector<std::int32_t>> all;
    for (std::size_t i = 0; i + 1 < batch.ends.size(); ++i)
      all.emplace_back(batch.ids.begin() + batch.ends[i], batch.ids.begin() + batch.ends[i + 1]);
    return all;
  }
  // What transformers wrote after prompt number i.
  std::vector<std::int32_t> written(const std::string& how, std::size_t i) const {
    const std::vector<std::int64_t> all = integers("written." + how);
    const std::size_t count = all.size() / prompts().size();
    return {all.begin() + static_cast<std::ptrdiff_t>(i * count),
            all.begin() + static_cast<std::ptrdiff_t>((i + 1) * count)};
  }
};

}  // namespace attend
