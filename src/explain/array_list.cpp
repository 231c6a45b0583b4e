#include "explain/array_list.h"

#include <attend/save.h>

#include "save/write_tensor.h"

namespace attend::explain {

void ArrayList::add(const std::string& name, Tensor tensor) {
  if (tensor.count() == 0) return;
  tensors_.push_back(std::move(tensor));
  names_.push_back(name);
}

void ArrayList::add(const std::string& name, const std::vector<double>& values) {
  add(name, Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values));
}

void ArrayList::add(const std::string& name, const Dims& shape, const std::vector<std::int64_t>& values) {
  add(name, Tensor::from<std::int64_t>(shape, values));
}

std::vector<NamedTensor> ArrayList::named() const {
  std::vector<NamedTensor> list;
  for (std::size_t i = 0; i < names_.size(); ++i) list.push_back({names_[i], tensors_[i]});
  return list;
}

std::string ArrayList::npz_bytes() const { return save::npz_bytes(named()); }

void ArrayList::save(const std::filesystem::path& file, std::string_view format) const {
  const std::vector<NamedTensor> list = named();
  if (format == "npz") {
    save_npz(file, list);
  } else {
    save_safetensors(file, list);
  }
}

}  // namespace attend::explain
