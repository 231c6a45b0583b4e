// How GGUF files name what a byte-level tokenizer does to a text before it looks for tokens.
#pragma once

#include <attend/gguf.h>

#include <string_view>

namespace attend::text {

// Sections of a tokenizer.json.
struct GgufPipeline {
  std::string_view name;           // the file's tokenizer.ggml.pre
  std::string_view normalizer;     // JSON
  std::string_view pre_tokenizer;  // JSON
  bool ignore_merges = false;      // a word that is a token is not put together from parts
  bool add_bos = false;            // where the file does not say
};

// That of a file. Refuses by name what is not among them.
const GgufPipeline& pipeline_of(const Gguf& file);

}  // namespace attend::text
