// What the tensors of a model are called in a file: one slot for each, whatever the family.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attend::model {

// An empty name: the model has no such tensor. A linear layer's name stands for NAME.weight and NAME.bias, a
// norm's for NAME.weight and NAME.bias or, in some files, NAME.gamma and NAME.beta.
struct LayerNames {
  // The product with the layer's input: separate queries, keys and values, or one tensor that holds all
  // three. In a cross layer the queries alone: its keys and values are in `context`.
  std::vector<std::string> projected{};
  std::vector<std::string> context{};
  std::string query_norm{}, key_norm{}, sinks{};
  std::string out{};
  std::string attention_norm{};      // before or after the part, as NormPlace says
  std::string attention_out_norm{};  // the second one, with NormPlace::around
  std::vector<std::string> up{};     // with a gate: gate and up, or one tensor that holds both
  std::string down{};
  std::string feed_forward_norm{}, feed_forward_out_norm{};
};

// The layer that guesses tokens. Where `dense` is not empty, the file has one if it has that; else always.
struct OutputNames {
  bool none = false;  // the model has no such layer
  std::string dense{}, norm{};
  bool dense_bias = true;      // else it has one if the file does
  bool own_activation = true;  // of the dense layer: the model's; else GELU, whatever the layers have
  std::vector<std::string> tables{}, biases{};  // the first that the file has; no tables: that of words
  bool table_input_first = false;               // (E, vocabulary)
};

// The part that scores a whole text: from its vector through `dense`, an activation and `norm` to `score`.
// No `score`: the family has no such part; no `dense`: the vector itself is scored.
enum class SequenceActivation : std::uint8_t { tanh, relu, gelu };
struct SequenceNames {
  std::string dense{}, norm{}, score{};
  SequenceActivation activation = SequenceActivation::tanh;
  bool pooler = false;     // `dense` has the prefix of the layers' tensors
  bool dense_bias = true;  // else it has one if the file does
  bool score_bias = true;
};

struct TensorNames {
  std::string words{}, positions{}, types{};  // whole names
  std::string words_also{};                   // what some files call the table of words, in place of that
  std::string embedding_norm{}, source_embedding_norm{};
  std::string embedding_projection{};  // a linear layer, where the tables' rows are of another size
  std::vector<LayerNames> layers{};
  std::string final_norm{}, source_final_norm{};
  std::string relative_bias{}, source_relative_bias{};  // whole names
  OutputNames output{};
  SequenceNames sequence{};

  bool projected_by_head = false;  // rows of the one tensor `projected` are (heads, 3, size): GPT-NeoX
  bool input_first = false;        // matrices are (in, out), as GPT-2's Conv1D has them; else (out, in)
  bool gamma_and_beta = false;     // norms are stored under these names

  // Prefixes of every name except those of the output, in files of models that were saved with a head.
  std::vector<std::string> prefixes{""};
};

}  // namespace attend::model
