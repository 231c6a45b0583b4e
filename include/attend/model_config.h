// What a model's config.json says, as far as an encoder needs it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <attend/file_error.h>
#include <attend/activation.h>

namespace attend {

class ModelFile;

// `attend` is what `attend train` writes where no other family has such a model.
enum class ModelFamily : std::uint8_t { bert, roberta, distilbert, mpnet, gpt2, attend };

std::string_view name_of(ModelFamily family) noexcept;  // "bert", ...

enum class NormKind : std::uint8_t { layer, rms };
enum class PositionKind : std::uint8_t { none, sinusoidal, learned, rotary, alibi };

// Which tokens of a text look at which in a layer. In a model with an encoder and a decoder a text is a
// source and behind it a target: its tokens of type 1.
enum class LayerKind : std::uint8_t {
  whole,    // all at all, or at those before them
  encoder,  // those of the source at each other
  decoder,  // those of the target at those before them
  cross,    // those of the target at the source
};

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

  NormKind norm = NormKind::layer;
  PositionKind position_kind = PositionKind::learned;
  bool gated = false;  // SwiGLU: one half of the inner vector opens and closes the other
  bool scaled = true;  // scores are divided by sqrt(D)

  // Of a model with an encoder and a decoder; else 0. `layers` then counts every attention: those of the
  // encoder, and for each layer of the decoder one of its kind and one that looks at the source.
  std::int64_t encoder_layers = 0;
  std::optional<std::int32_t> start_token{};  // the one that its answer begins behind

  LayerKind layer_kind(std::int64_t layer) const noexcept;  // from 1
  // "3", or "encoder 3", "decoder 1", "cross 1".
  std::string layer_name(std::int64_t layer) const;

  // Tokens that have a position of their own; of source and target each, where there are two.
  std::int64_t max_tokens() const noexcept { return positions - first_position; }
};

// Throws FileError, with the key, for a family or an option that attend does not have, and for numbers that
// make no sense. Keys that do not change what a model computes are not looked at.
ModelConfig read_model_config(const std::filesystem::path& config_json);
ModelConfig read_model_config(const ModelFile& config_json);  // as find_model() opened it

}  // namespace attend
