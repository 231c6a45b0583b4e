#include "checkpoint/gguf_contents.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/parallel.h"

namespace attend {

using namespace checkpoint;

namespace {

Dims dims_of(const GgufTensor& tensor) {
  return Dims(std::span(tensor.shape).first(static_cast<std::size_t>(tensor.rank)));
}

// Decodes on all threads, in pieces that are large enough to be worth a thread's attention.
void decode_in_pieces(const GgufTensorType& type, const std::byte* from, std::int64_t elements, float* to) {
  constexpr std::int64_t kElements = 1 << 16;
  const std::int64_t blocks = elements / type.block_elements, step = kElements / type.block_elements;
  parallel_for((blocks + step - 1) / step, [&](std::int64_t piece, int) noexcept {
    const std::int64_t first = piece * step;
    type.decode(from + first * type.block_bytes, std::min(step, blocks - first),
                to + first * type.block_elements);
  });
}

}  // namespace

bool begins_as_gguf(const io::InputFile& file) {
  std::array<char, kGgufMagic.size()> first{};
  if (file.size() < first.size()) return false;
  file.read(0, first);
  return std::string_view(first.data(), first.size()) == kGgufMagic;
}

Gguf::Contents::Contents(io::InputFile input)
    : mapped(std::move(input)), header(parse_gguf(mapped.file().name(), bytes())) {
  const auto split = std::find_if(header.metadata.begin(), header.metadata.end(),
                                  [](const GgufEntry& entry) { return entry.key == "split.count"; });
  if (split != header.metadata.end() && !split->is_array && split->type == GgufType::u16) {
    const std::uint64_t count = GgufCursor(file(), bytes(), split->begin).number(2, split->key, "its value");
    if (count > 1)
      io::fail(file(), split->key, "this is one of ", count,
               " files, and attend reads models in a single file");
  }
  mapped.require_intact();  // what was lost while it was checked would have been read as zeros
}

const GgufTensor* Gguf::Contents::find(std::string_view name) const {
  const auto found =
      std::lower_bound(header.tensors.begin(), header.tensors.end(), name,
                       [](const GgufTensor& tensor, std::string_view n) { return tensor.name < n; });
  return found == header.tensors.end() || found->name != name ? nullptr : &*found;
}

const GgufTensor& Gguf::Contents::require(std::string_view name) const {
  const GgufTensor* const tensor = find(name);
  if (tensor == nullptr) io::fail(file(), name, "is not there");
  return *tensor;
}

std::vector<std::string> Gguf::Contents::names() const {
  std::vector<std::string> names;
  for (const GgufTensor& tensor : header.tensors) names.push_back(tensor.name);
  return names;
}

TensorInfo Gguf::Contents::info(std::string_view name) const {
  const GgufTensor& tensor = require(name);
  return {std::string(tensor.type->name),
          {tensor.shape.begin(), tensor.shape.begin() + tensor.rank},
          static_cast<std::int64_t>(tensor.end - tensor.begin),
          file()};
}

std::map<std::string, std::string> Gguf::Contents::metadata() const {
  std::map<std::string, std::string> strings;
  for (const GgufEntry& entry : header.metadata) {
    if (entry.is_array || entry.type != GgufType::string) continue;
    strings.emplace(entry.key, GgufCursor(file(), bytes(), entry.begin).string(entry.key, "its string"));
  }
  return strings;
}

bool Gguf::Contents::is_viewed(const GgufTensor& tensor) const {
  return tensor.type->dtype &&
         reinterpret_cast<std::uintptr_t>(data(tensor)) % size_of(*tensor.type->dtype) == 0;
}

TensorForm Gguf::Contents::form(std::string_view name) const {
  const GgufTensor& tensor = require(name);
  if (!tensor.type->dtype && tensor.type->decode == nullptr)
    io::fail(file(), name, "holds ", tensor.type->name, ", which attend does not compute with");
  return {tensor.type->dtype.value_or(DType::f32), dims_of(tensor)};
}

ConstTensorView Gguf::Contents::tensor(std::string_view name) const {
  const auto [dtype, shape] = form(name);
  const GgufTensor& tensor = require(name);
  if (tensor.begin == tensor.end) return {nullptr, dtype, shape, row_major_strides(shape)};
  mapped.require_intact();
  if (is_viewed(tensor)) return {data(tensor), dtype, shape, row_major_strides(shape)};
  const std::lock_guard lock(decoding_);
  auto position = decoded_.find(&tensor);
  if (position == decoded_.end()) position = decoded_.emplace(&tensor, decoded(tensor)).first;
  return std::as_const(position->second).view();
}

std::optional<StoredBlocks> Gguf::Contents::blocks(std::string_view name) const {
  const GgufTensor& tensor = require(name);
  if (!tensor.type->blocks || tensor.rank != 2 || tensor.begin == tensor.end) return std::nullopt;
  mapped.require_intact();
  const BlockView view{*tensor.type->blocks, tensor.shape[0], tensor.shape[1], data(tensor)};
  return StoredBlocks{view, tensor.type->decode};
}

Tensor Gguf::Contents::decoded(const GgufTensor& tensor) const {
  const std::byte* const from = data(tensor);
  const auto bytes = static_cast<std::size_t>(tensor.end - tensor.begin);
  Tensor result(tensor.type->dtype.value_or(DType::f32), dims_of(tensor));
  if (tensor.type->dtype) {  // not aligned for its type
    std::memcpy(result.view().raw(), from, bytes);
  } else {
    decode_in_pieces(*tensor.type, from, result.count(), static_cast<float*>(result.view().raw()));
    mapped.forget(from, bytes);
  }
  return result;
}

void Gguf::Contents::forget(std::string_view name) const {
  const GgufTensor& tensor = require(name);
  mapped.forget(data(tensor), static_cast<std::size_t>(tensor.end - tensor.begin));
  const std::lock_guard lock(decoding_);
  decoded_.erase(&tensor);
}

}  // namespace attend
