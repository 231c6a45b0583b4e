// What another program computed for the same texts; docs/doctor.md describes the file.
#pragma once

#include <attend/text_model.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attend::doctor {

struct Reference {
  std::string file;
  std::optional<Tensor> embeddings{};  // (texts, E), f64
  std::optional<TokenBatch> tokens{};  // ids and ends
  std::map<std::int64_t, Tensor>
      hidden{};  // by layer, 0 the embeddings: (tokens, hidden size), in the type in which it is stored

  std::int64_t texts() const;
};

// .npy with just the vectors; .npz or .safetensors with "embeddings", or with "ids", "ends" and "hidden.N",
// or with all of them. Throws FileError, also for numbers that are not finite.
Reference read_reference(const std::filesystem::path& path);

// Throws FileError if the reference cannot be for this model and `texts` texts.
void require_fitting(const Reference& reference, const TextModel& model, std::optional<std::int64_t> texts);

}  // namespace attend::doctor
