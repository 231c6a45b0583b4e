// Weights that are not numbers: NaN and infinity in the files of a model.
#pragma once

#include <attend/text_model.h>

#include <cstdint>
#include <string>
#include <vector>

namespace attend::doctor {

// A tensor that holds some.
struct BadTensor {
  std::string name;
  std::string file;                   // its name, without the folder
  std::int64_t count = 0;             // of its numbers
  std::vector<std::int64_t> first{};  // where the first of them is: an index for each axis
  double value = 0;                   // what it is
};

// Of the model and of the dense layers that follow pooling, in the order of their names. Reads all weights.
std::vector<BadTensor> find_bad_tensors(const ModelFiles& files);

// "NAME holds NaN at [3, 5]", "NAME holds 12 numbers that are not finite, the first at [3, 5] (inf)"
std::string sentence_of(const BadTensor& tensor);

// Why numbers of a pass are not finite, as far as the weights tell: a clause without its end.
std::string cause_of_not_finite(const ModelFiles& files);

}  // namespace attend::doctor
