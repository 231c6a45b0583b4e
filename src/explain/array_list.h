// Arrays of different types and shapes, kept until they are written into one file.
#pragma once

#include <attend/save.h>
#include <attend/tensor.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attend::explain {

class ArrayList {
 public:
  // One without elements is left out.
  void add(const std::string& name, Tensor tensor);
  void add(const std::string& name, const std::vector<double>& values);
  void add(const std::string& name, const Dims& shape, const std::vector<std::int64_t>& values);

  // format: npz or safetensors.
  void save(const std::filesystem::path& file, std::string_view format) const;
  std::string npz_bytes() const;

 private:
  std::vector<NamedTensor> named() const;

  std::vector<std::string> names_;
  std::vector<Tensor> tensors_;
};

}  // namespace attend::explain
