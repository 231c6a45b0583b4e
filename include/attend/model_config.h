// What a model's config.json says, as far as an encoder needs it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <attend/file_error.h>
#include <attend/matmul.h>

namespace attend {

enum class ModelFamily : std::uint8_t { bert, roberta, distilbert, mpnet, gpt2 };

std::string_view name_of(ModelFamily family) noexcept;  // "bert", ...

struct ModelConfig {
  ModelFamily family = ModelFamily::bert;
  std::string model_type{};                  // "xlm-roberta", of family roberta
  std::vector<std::string> architectures{};  // "BertForMaskedLM"; may be empty

  std::int64_t hidden_size = 0;  // a multiple of heads
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t vocabulary_size = 0;
  std::int64_t positions = 0;       // rows of the table of positions
  std::int64_t first_position = 0;  // the row of the first token: 2 in RoBERTa and MPNet
  std::int64_t token_types = 0;     // 0: the family has none

  Activation activation = Activation::gelu;
  double layer_norm_eps = 1e-12;
  std::optional<std::int64_t> pad_token{};

  bool causal = false;  // GPT-2
  bool norm_first =
      false;  // GPT-2: each part normalises what it reads, not what it leaves, and once more at the end
  bool tied_embeddings = true;         // the output layer of a language model is the word embedding
  std::int64_t relative_buckets = 0;   // MPNet: rows of relative_attention_bias; 0: there is none
  std::int64_t relative_distance = 0;  // beyond it all positions share the last bucket

  // Tokens that have a position of their own.
  std::int64_t max_tokens() const noexcept { return positions - first_position; }
};

// Throws FileError, with the key, for a family or an option that attend does not have, and for numbers that
// make no sense. Keys that do not change what a model computes are not looked at.
ModelConfig read_model_config(const std::filesystem::path& config_json);

}  // namespace attend
