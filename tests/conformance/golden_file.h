// Reads the files under tests/golden: cases of named numbers and tensors. tools/golden/README.md describes
// the format.
#pragma once

#include <attend/tensor.h>

#include <map>
#include <string>
#include <vector>

namespace attend {

struct GoldenCase {
  std::string name;
  std::map<std::string, double> numbers;
  std::map<std::string, Tensor> tensors;

  bool has(const std::string& entry) const { return tensors.contains(entry) || numbers.contains(entry); }
  double number(const std::string& entry) const;
  const Tensor& tensor(const std::string& entry) const;

  // The same case with its floating tensors rounded to another type.
  GoldenCase rounded_to(DType dtype) const;
};

// Throws std::runtime_error when the file is missing, or is not what its first lines say it is.
std::vector<GoldenCase> read_golden(const std::string& path);

}  // namespace attend
