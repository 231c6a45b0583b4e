// Finds weights that are NaN or infinite in the files of a model.
#pragma once

#include <attend/text_model.h>

#include <cstdint>
#include <string>
#include <vector>

namespace attend::doctor {

// A tensor that contains such weights.
struct BadTensor {
  std::string name;
  std::string file;                   // its name, without the folder
  std::int64_t count = 0;             // how many
  std::vector<std::int64_t> first{};  // the first of them: one index per axis
  double value = 0;                   // its value
};

// In the model and in the dense layers after pooling, ordered by name. Reads all weights.
std::vector<BadTensor> find_bad_tensors(const ModelFiles& files);

// "NAME holds NaN at [3, 5]", "NAME holds 12 numbers that are not finite, the first at [3, 5] (inf)"
std::string sentence_of(const BadTensor& tensor);

// Why numbers of a pass are not finite, as far as the weights show: a clause without a full stop.
std::string cause_of_not_finite(const ModelFiles& files);

}  // namespace attend::doctor
