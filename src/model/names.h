// What each family calls its tensors.
#pragma once

#include <attend/encoder.h>

#include <cstdint>
#include <string>
#include <vector>

namespace attend {

struct EmbeddingNames {
  std::string words{}, positions{}, types{}, norm{};  // empty: the family has none
  std::string source_norm{};                          // of the encoder's tokens, where there are two norms
};

struct LayerNames {
  std::vector<std::string> qkv;  // three linear layers, or one that holds all three; of a cross layer q alone
  std::string out, attention_norm;
  std::string up{}, down{}, output_norm{};  // empty: there is no feed-forward part
  std::string context{};                    // keys and values of a cross layer
};

struct Names {
  std::string prefix{};  // in front of every name in this file; may be empty
  EmbeddingNames embeddings{};
  std::string final_norm{};     // GPT-2
  std::string encoder_norm{};   // the same of an encoder that has a decoder
  std::string relative_bias{};  // MPNet
  bool input_first = false;     // weights are (in, out), as GPT-2's Conv1D has them, not (out, in)

  LayerNames layer(std::int64_t index) const;

  ModelFamily family = ModelFamily::bert;
  std::int64_t encoder_layers = 0;
};

// The names of a model's family, with the prefix that this source uses. Throws FileError where it has the
// tensors of another kind of model.
Names names_of(const ModelConfig& config, const TensorSource& tensors);

}  // namespace attend
