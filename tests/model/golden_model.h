// The golden checkpoints, small and random, one of each family (tools/golden/make_models.py).
#pragma once

#include <attend/checkpoint.h>
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/compare.h"

namespace attend {

// class X : public EachGoldenModel {};
// INSTANTIATE_TEST_SUITE_P(Families, X, testing::ValuesIn(kGoldenModels), golden_name);
inline constexpr const char* kGoldenModels[] = {
    "bert", "bert-relu", "roberta", "xlm-roberta", "distilbert", "mpnet", "gpt2",
    // tools/golden/make_encoders.py
    "modernbert", "nomic-bert", "electra", "albert", "t5-encoder"};

class EachGoldenModel : public testing::TestWithParam<const char*> {
 protected:
  const std::filesystem::path folder = std::filesystem::path(ATTEND_GOLDEN_MODELS) / GetParam();
  const ModelDescription config = read_model_description(folder / "config.json");
  const TensorSource tensors = tensors_of(Checkpoint::open(folder));
  const Checkpoint golden = Checkpoint::open(folder / "golden.safetensors");

  // Four texts, of 7, 1, 19 and 30 tokens.
  TokenBatch batch() const {
    TokenBatch batch;
    for (const double id : values_of(golden.tensor("ids")))
      batch.ids.push_back(static_cast<std::int32_t>(id));
    batch.ends.clear();
    for (const double end : values_of(golden.tensor("ends")))
      batch.ends.push_back(static_cast<std::int64_t>(end));
    return batch;
  }
};

inline std::string golden_name(const testing::TestParamInfo<const char*>& name) {
  std::string text = name.param;
  std::erase(text, '-');
  return text;
}

// Text number `text` of a batch.
inline std::vector<std::int32_t> text_of(const TokenBatch& batch, std::int64_t text) {
  const auto at = static_cast<std::size_t>(text);
  return {batch.ids.begin() + batch.ends[at], batch.ids.begin() + batch.ends[at + 1]};
}

}  // namespace attend
