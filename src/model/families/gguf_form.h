// How a GGUF file tells what model it holds: the second way to a ModelDescription, beside config.json.
#pragma once

#include <attend/checkpoint.h>
#include <attend/gguf.h>
#include <attend/model_description.h>
#include <attend/transformer.h>

#include <span>
#include <string_view>

#include "model/tensor_names.h"

namespace attend::model {

class GgufKeys;

// One for each architecture that GGUF names. `describe` fills in everything that is not common to all of
// them.
struct GgufForm {
  std::string_view architecture;  // the file's general.architecture
  std::string_view family;        // the family whose models it stores
  ModelDescription (*describe)(const GgufKeys& keys);
  TensorNames (*names)(const ModelDescription& description, const TensorSource& tensors);
};

// Each in the file of its kind: gguf_decoders.cpp, gguf_encoders.cpp.
extern const GgufForm kGgufLlama, kGgufQwen2, kGgufQwen3, kGgufGemma2, kGgufGemma3, kGgufPhi3, kGgufGpt2,
    kGgufBert, kGgufNomicBert;

std::span<const GgufForm* const> gguf_forms();

// Throws FileError for an architecture that attend does not have.
ModelDescription describe_gguf(const Gguf& file);

// Whether tensors come from a GGUF file; and what they are called there.
bool has_gguf_names(const TensorSource& tensors);
TensorNames gguf_names(const ModelDescription& description, const TensorSource& tensors);

}  // namespace attend::model
