// A trained model as a folder that others can load: model.safetensors, config.json, tokenizer.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "train/model.h"

namespace attend::learn {

inline constexpr const char *kConfigFile = "config.json", *kTokenizerFile = "tokenizer.json",
                            *kWeightsFile = "model.safetensors", *kGenerationFile = "generation_config.json";

// Under the names of the family whose code computes such a model, so that everything that reads that family
// reads it; else under those of attend's own. Each file is written atomically. Throws FileError.
// start_token: for an encoder-decoder whose description does not have it yet.
void save_model_folder(const std::filesystem::path& folder, train::Model& model,
                       const std::string& tokenizer_json, std::optional<std::int32_t> start_token = {});

// The config.json of such a folder.
std::string config_json(const ModelDescription& description);

// Bytes into a file, atomically.
void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace attend::learn
