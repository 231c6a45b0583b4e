#include <attend/save.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "save/array_format.h"
#include "save/safetensors_header.h"
#include "save/write_tensor.h"

namespace attend {

using namespace save;

namespace {

void write_npz(ByteOutput& output, std::span<const NamedTensor> tensors) {
  const auto format = npz_format(output);
  for (const NamedTensor& named : tensors) write_tensor(*format, named);
  format->finish();
}

}  // namespace

void save_npy(const std::filesystem::path& path, ConstTensorView tensor) {
  OutputFile file(path);
  const auto format = npy_format(file);
  write_tensor(*format, {"array", tensor});
  file.commit();
}

void save_npz(const std::filesystem::path& path, std::span<const NamedTensor> tensors) {
  OutputFile file(path);
  write_npz(file, tensors);
  file.commit();
}

std::string save::npz_bytes(std::span<const NamedTensor> tensors) {
  MemoryOutput output;
  write_npz(output, tensors);
  return output.take();
}

void save_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.given()) refuse("save", "\"", name, "\" is not given");
  }
  // Large elements first, so that all of them are aligned. The sizes are known, so the header can be as long
  // as it must be, and end at a multiple of 8.
  std::vector<NamedTensor> sorted(tensors.begin(), tensors.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return size_of(a.tensor.dtype()) > size_of(b.tensor.dtype());
  });
  std::vector<StoredArray> arrays;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : sorted) {
    const std::uint64_t begin = end;
    end += static_cast<std::uint64_t>(tensor.count()) * size_of(tensor.dtype());
    arrays.push_back({name, tensor.dtype(), tensor.shape(), begin, end});
  }
  const std::size_t header_bytes = (safetensors_header(arrays, metadata).size() + 7) / 8 * 8;
  OutputFile file(path);
  const auto format = safetensors_format(file, header_bytes, metadata);
  for (const NamedTensor& named : sorted) write_tensor(*format, named);
  format->finish();
  file.commit();
}

}  // namespace attend
