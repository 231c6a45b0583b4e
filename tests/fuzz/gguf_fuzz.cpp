// Any bytes as a GGUF file: tensors that lie side by side in it, or FileError.
#include <vector>

#include "checkpoint/gguf_header.h"
#include "fuzz/file_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  // In memory of exactly this size, so that the sanitizer sees a byte too far.
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                                     reinterpret_cast<const std::byte*>(data) + size);
  parse_or_refuse([&] {
    const checkpoint::GgufHeader header = checkpoint::parse_gguf("fuzz", bytes);
    require(header.data_start <= size);
    for (std::size_t i = 0; i < header.metadata.size(); ++i) {
      const checkpoint::GgufEntry& entry = header.metadata[i];
      require(i == 0 || header.metadata[i - 1].key < entry.key);
      require(entry.begin <= entry.end && entry.end <= size);
      require(entry.count <= size);
    }
    for (std::size_t i = 0; i < header.tensors.size(); ++i) {
      const checkpoint::GgufTensor& tensor = header.tensors[i];
      require(i == 0 || header.tensors[i - 1].name < tensor.name);
      require(tensor.begin <= tensor.end && tensor.end <= size - header.data_start);
      const auto held = static_cast<std::int64_t>(tensor.end - tensor.begin);
      if (tensor.type->decode == nullptr) continue;
      std::vector<float> values(
          static_cast<std::size_t>(held / tensor.type->block_bytes * tensor.type->block_elements));
      tensor.type->decode(bytes.data() + header.data_start + tensor.begin, held / tensor.type->block_bytes,
                          values.data());
    }
  });
  return 0;
}
