// The files that sentence-transformers adds to a model's folder.
#pragma once

#include <attend/model_files.h>

#include <string>
#include <vector>

#include "io/open_file.h"

namespace attend::checkpoint {

enum class ModuleKind : std::uint8_t { transformer, pooling, dense, normalize };

struct Module {
  ModuleKind kind;
  std::string folder;  // a plain name, or empty for the model's own
};

// modules.json: a transformer, one pooling, any number of dense layers, perhaps a normalisation, in this
// order; or the transformer alone, of a cross-encoder. Refuses other modules by name.
std::vector<Module> parse_modules(io::FileText text);

// Each reads one file into what it says about the model.
void parse_pooling(io::FileText text, ModelFiles& files);           // 1_Pooling/config.json
void parse_sentence_config(io::FileText text, ModelFiles& files);   // sentence_bert_config.json
void parse_prompts(io::FileText text, ModelFiles& files);           // config_sentence_transformers.json
void parse_tokenizer_config(io::FileText text, ModelFiles& files);  // tokenizer_config.json: model_max_length
DenseModule parse_dense(io::FileText text);  // 2_Dense/config.json, all but the weights

}  // namespace attend::checkpoint
