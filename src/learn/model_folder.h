// A trained model as a folder that others can load: model.safetensors, config.json, tokenizer.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/model.h"

namespace attend::learn {

// A parameter, or a part of one, under the name and in the layout of a file.
struct StoredTensor {
  std::string name;
  ConstTensorView tensor;
};

// Whether the model is one that GPT-2's code computes: then it is stored under GPT-2's names, and everything
// that reads GPT-2 reads it.
bool is_gpt2(const train::ModelShape& shape);

// "layer.0.attention.qkv.weight" as GPT-2 has it. Its matrices are (in, out) too.
std::string gpt2_name(const std::string& name);

// The same for BERT's encoder, without an output layer.
bool is_bert(const train::ModelShape& shape);

// Under GPT-2's or BERT's names and in their layout, else under the names of src/train. A view among them may
// look at `zeros`, (2, E).
std::vector<StoredTensor> stored_tensors(train::Model& model, TensorView zeros);
// start: of a model with a source, the token that an answer begins behind.
std::string config_json(const train::ModelShape& shape, std::optional<std::int32_t> start = {});

inline constexpr const char *kConfigFile = "config.json", *kTokenizerFile = "tokenizer.json",
                            *kWeightsFile = "model.safetensors";

// These three, each written whole or not at all. Throws FileError.
void save_model_folder(const std::filesystem::path& folder, train::Model& model,
                       const std::string& tokenizer_json, std::optional<std::int32_t> start = {});

// Bytes into a file, whole or not at all.
void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace attend::learn
