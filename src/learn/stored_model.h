// A model on the disk as src/train has it: its shape, and its parameters by the names of src/train, whether
// the folder keeps those or GPT-2's.
#pragma once

#include <attend/checkpoint.h>
#include <attend/matmul.h>
#include <attend/model_config.h>
#include <attend/model_files.h>

#include <cstdint>
#include <optional>
#include <string>

#include "train/model_shape.h"

namespace attend::learn {

// Of attend's own family or GPT-2's.
train::ModelShape shape_of(const ModelConfig& config);

class StoredModel {
 public:
  // Throws FileError for families that are neither attend's own nor GPT-2's.
  explicit StoredModel(const ModelFiles& files);

  const train::ModelShape& shape() const noexcept { return shape_; }
  // The token that an answer to a source begins behind.
  const std::optional<std::int32_t>& start() const noexcept { return config_.start_token; }
  // Of the feed-forward part, where it is not SwiGLU: GPT-2's family has more than src/train.
  Activation activation() const noexcept { return config_.activation; }

  // By src/train's name; matrices are (in, out). Looks into the file, which stays open as long as this.
  ConstTensorView tensor(const std::string& name, const Dims& shape) const;
  // (E, vocabulary): "output", or the table of words turned over.
  ConstTensorView output() const;
  // Throws FileError when the file was cut while it was read.
  void require_intact() const { checkpoint_.require_intact(); }

 private:
  bool gpt2() const noexcept { return config_.family == ModelFamily::gpt2; }

  ModelConfig config_;
  Checkpoint checkpoint_;
  train::ModelShape shape_;
  std::string prefix_;  // of GPT-2's names
};

}  // namespace attend::learn
