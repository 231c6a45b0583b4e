// What each family calls its tensors.
#pragma once

#include <attend/encoder.h>

#include <cstdint>
#include <string>
#include <vector>

namespace attend {

struct EmbeddingNames {
  std::string words{}, positions{}, types{}, norm{};  // empty: the family has none
};

struct LayerNames {
  std::vector<std::string> qkv;  // three linear layers, or one that holds all three
  std::string out, attention_norm, up, down, output_norm;
};

struct Names {
  std::string prefix{};  // in front of every name in this file; may be empty
  EmbeddingNames embeddings{};
  std::string final_norm{};     // GPT-2
  std::string relative_bias{};  // MPNet
  bool input_first = false;     // weights are (in, out), as GPT-2's Conv1D has them, not (out, in)

  LayerNames layer(std::int64_t index) const;

  ModelFamily family = ModelFamily::bert;
};

// The names of a family, with the prefix that this source uses. Throws FileError where it has the tensors of
// another kind of model.
Names names_of(ModelFamily family, const TensorSource& tensors);

}  // namespace attend
