// What a model on this machine is, according to its files, and whether attend reads it.
#pragma once

#include <filesystem>
#include <string>

#include "inventory/weight_totals.h"

namespace attend::inventory {

struct ModelEntry {
  std::string name;            // what -m takes
  std::filesystem::path path;  // its folder, or its GGUF file
  std::string family{};        // of attend's, else what the files call it; may be empty
  bool writes = false;         // a language model that continues a text
  bool vectors = false;        // a folder of sentence-transformers
  bool scores = false;         // a classifier or a cross-encoder
  std::int64_t layers = 0, heads = 0, key_heads = 0;  // 0 where that is not known
  WeightTotals weights{};
  std::uint64_t bytes = 0;  // on disk, of everything in its folder
  bool tokenizer = false;   // there is one, and attend reads it
  std::string problem{};    // why attend does not read it, in one phrase; empty: it does
};

// Reads config, tokenizer and the headers of the weights, but not the weights. Never throws for what the
// files hold: that is the problem of the entry.
ModelEntry describe_entry(std::string name, std::filesystem::path path);

// Whether a folder holds a model: config.json, or the modules.json of a sentence model.
bool is_model_folder(const std::filesystem::path& folder);

}  // namespace attend::inventory
