// Any bytes as model.safetensors.index.json: tensors in files with plain names, or FileError.
#include "checkpoint/weight_index.h"

#include "fuzz/file_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  parse_or_refuse([&] {
    const checkpoint::WeightIndex index = checkpoint::parse_index(file_text(data, size));
    for (const std::string& name : index.files) {
      require(name.find('/') == std::string::npos && name.ends_with(".safetensors"));
    }
    for (const auto& [tensor, file] : index.tensors) require(file < index.files.size());
    require(!index.tensors.empty());
  });
  return 0;
}
