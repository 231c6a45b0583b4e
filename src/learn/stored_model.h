// A model on the disk as src/train has it: its shape, and its parameters by the names of src/train, whether
// the folder keeps those or GPT-2's.
#pragma once

#include <attend/checkpoint.h>
#include <attend/matmul.h>
#include <attend/model_files.h>

#include <cstdint>
#include <optional>
#include <string>

#include "train/model_shape.h"

namespace attend::learn {

// What config.json says that config_json() wrote: model_type "attend". Throws FileError, with the key.
struct StoredShape {
  train::ModelShape shape{};
  std::optional<std::int32_t> start{};  // the token that an answer to a source begins behind
};
StoredShape shape_from_json(const std::filesystem::path& config_json);

class StoredModel {
 public:
  // Throws FileError for families that are neither attend's own nor GPT-2's.
  explicit StoredModel(const ModelFiles& files);

  const train::ModelShape& shape() const noexcept { return stored_.shape; }
  const std::optional<std::int32_t>& start() const noexcept { return stored_.start; }
  // Of the feed-forward part, where it is not SwiGLU: GPT-2's family has more than src/train.
  Activation activation() const noexcept { return activation_; }

  // By src/train's name; matrices are (in, out). Looks into the file, which stays open as long as this.
  ConstTensorView tensor(const std::string& name, const Dims& shape) const;
  // (E, vocabulary): "output", or the table of words turned over.
  ConstTensorView output() const;
  // Throws FileError when the file was cut while it was read.
  void require_intact() const { checkpoint_.require_intact(); }

 private:
  void read_gpt2(const ModelFiles& files);

  StoredShape stored_;
  Activation activation_ = Activation::none;
  Checkpoint checkpoint_;
  bool gpt2_ = false;
  std::string prefix_;  // of GPT-2's names
};

}  // namespace attend::learn
