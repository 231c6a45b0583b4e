// Which tensor of a file each parameter of a model comes from, and goes to: a family's names matched with
// those of parameters, in both directions.
#pragma once

#include <attend/model_description.h>
#include <attend/transformer.h>

#include <string>
#include <vector>

#include "model/tensor_names.h"
#include "train/parameters.h"

namespace attend::train {

// One tensor of a file beside a parameter, or a part of one.
struct ParameterLink {
  std::string tensor, parameter;
  // Of a parameter that holds several side by side: these columns, or elements of a bias; 0: all of them.
  std::int64_t first_column = 0, columns = 0;
  bool transposed = false;  // the file has the matrix as (out, in)
  std::int64_t row = -1;    // the parameter is some rows of the tensor, from this one; -1: it is the whole

  // The parameter as the file lays it out: its shape, and itself. Where it is some rows, those.
  Dims shape(const Parameters& parameters) const;
  TensorView view(Parameters& parameters) const;
};

// All parameters of a model of this description, in a file of its own family. An output layer has no link
// where the family's file has no place for it.
std::vector<ParameterLink> links_to(const ModelDescription& description, const TensorSource& file,
                                    const Parameters& parameters);
// The same for a file that is to be written under these names.
std::vector<ParameterLink> links_to(const ModelDescription& description, const model::TensorNames& names,
                                    const Parameters& parameters);

}  // namespace attend::train
