// Any bytes as the header of a safetensors file: tensors that tile the data exactly, or FileError. The first
// byte is the size of the data.
#include "checkpoint/safetensors_header.h"

#include <vector>

#include "fuzz/file_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  if (size == 0) return 0;
  const std::size_t data_bytes = data[0];
  parse_or_refuse([&] {
    const checkpoint::SafetensorsHeader header =
        checkpoint::parse_header(file_text(data + 1, size - 1), data_bytes);
    std::vector<int> owners(data_bytes, 0);
    for (std::size_t i = 0; i < header.tensors.size(); ++i) {
      const checkpoint::TensorEntry& entry = header.tensors[i];
      require(i == 0 || header.tensors[i - 1].name < entry.name);
      require(entry.begin <= entry.end && entry.end <= data_bytes);
      std::uint64_t bits = static_cast<std::uint64_t>(entry.type->bits);
      for (int axis = 0; axis < entry.rank; ++axis) {
        require(entry.shape[static_cast<std::size_t>(axis)] >= 0);
        bits *= static_cast<std::uint64_t>(entry.shape[static_cast<std::size_t>(axis)]);
      }
      require(bits == 8 * (entry.end - entry.begin));
      for (std::uint64_t byte = entry.begin; byte < entry.end; ++byte) ++owners[byte];
    }
    require(std::all_of(owners.begin(), owners.end(), [](int count) { return count == 1; }));
  });
  return 0;
}
