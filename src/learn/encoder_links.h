// Which tensor of an encoder's file each parameter of a model that learns comes from, and goes back to.
#pragma once

#include <attend/checkpoint.h>
#include <attend/model_config.h>

#include <string>
#include <vector>

#include "train/model.h"

namespace attend::learn {

// One tensor of a file beside a parameter, or a part of one.
struct EncoderLink {
  std::string tensor, parameter;
  int third = -1;         // of a parameter that holds queries, keys and values side by side: which
  bool turned = false;    // the file has the matrix as (out, in)
  std::int64_t row = -1;  // the parameter is some rows of the tensor, from this one; -1: it is the whole

  // The parameter as the file lays it out: its shape, and itself. Where it is some rows, those.
  Dims shape(const train::Parameters& parameters) const;
  TensorView view(train::Model& model) const;
};

// The shape of BERT, RoBERTa, XLM-R and DistilBERT, without its length. Throws FileError, in `file`'s name,
// for a family or an activation that does not learn here.
train::ModelShape encoder_shape(const ModelConfig& config, const std::string& file);

// All parameters of a model of that shape.
std::vector<EncoderLink> encoder_links(const ModelConfig& config, const Checkpoint& checkpoint);

}  // namespace attend::learn
