// GGUF files made by hand, good and bad.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// Numbers as the format writes them, lowest byte first.
inline std::string gguf_number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  return text;
}
inline std::string gguf_u32(std::uint64_t value) { return gguf_number(value, 4); }
inline std::string gguf_u64(std::uint64_t value) { return gguf_number(value, 8); }
inline std::string gguf_f32(float value) { return gguf_u32(std::bit_cast<std::uint32_t>(value)); }
inline std::string gguf_string(std::string_view text) { return gguf_u64(text.size()).append(text); }

// A file put together from keys and tensors; counts and offsets are true unless they are given.
class GgufBytes {
 public:
  std::uint64_t version = 3, alignment = 32;
  std::uint64_t extra_keys = 0, extra_tensors = 0;  // that the counts claim and nobody wrote

  GgufBytes& key(std::string_view name, std::uint64_t type, std::string_view value) {
    keys_ += gguf_string(name) + gguf_u32(type);
    keys_ += value;
    ++key_count_;
    return *this;
  }
  GgufBytes& u32(std::string_view name, std::uint64_t value) { return key(name, 4, gguf_u32(value)); }
  GgufBytes& f32(std::string_view name, float value) { return key(name, 6, gguf_f32(value)); }
  GgufBytes& boolean(std::string_view name, bool value) { return key(name, 7, gguf_number(value, 1)); }
  GgufBytes& string(std::string_view name, std::string_view value) {
    return key(name, 8, gguf_string(value));
  }
  GgufBytes& array(std::string_view name, std::uint64_t type, std::uint64_t count, std::string_view values) {
    return key(name, 9, gguf_u32(type) + gguf_u64(count) + std::string(values));
  }
  GgufBytes& strings(std::string_view name, const std::vector<std::string>& values) {
    std::string all;
    for (const std::string& value : values) all += gguf_string(value);
    return array(name, 8, values.size(), all);
  }
  GgufBytes& floats(std::string_view name, const std::vector<float>& values) {
    std::string all;
    for (const float value : values) all += gguf_f32(value);
    return array(name, 6, values.size(), all);
  }
  GgufBytes& integers(std::string_view name, const std::vector<std::int32_t>& values) {
    std::string all;
    for (const std::int32_t value : values) all += gguf_u32(static_cast<std::uint32_t>(value));
    return array(name, 5, values.size(), all);
  }

  // dims as the file has them, fastest first.
  GgufBytes& tensor(std::string_view name, std::vector<std::uint64_t> dims, std::uint64_t type,
                    std::string_view data) {
    return tensor_at(name, dims, type, data_.size(), data);
  }
  GgufBytes& tensor_at(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint64_t type,
                       std::uint64_t offset, std::string_view data) {
    tensors_ += gguf_string(name) + gguf_u32(dims.size());
    for (const std::uint64_t size : dims) tensors_ += gguf_u64(size);
    tensors_ += gguf_u32(type) + gguf_u64(offset);
    ++tensor_count_;
    data_ += data;
    pad(data_);
    return *this;
  }
  GgufBytes& raw_tensor(std::string_view bytes) {
    tensors_ += bytes;
    ++tensor_count_;
    return *this;
  }

  std::string bytes() const {
    std::string file = "GGUF" + gguf_u32(version) + gguf_u64(tensor_count_ + extra_tensors) +
                       gguf_u64(key_count_ + extra_keys) + keys_ + tensors_;
    pad(file);
    return file + data_;
  }
  std::string header() const {
    const std::string whole = bytes();
    return whole.substr(0, whole.size() - data_.size());
  }

 private:
  void pad(std::string& text) const {
    if (alignment != 0) text.resize((text.size() + alignment - 1) / alignment * alignment, '\0');
  }

  std::string keys_, tensors_, data_;
  std::uint64_t key_count_ = 0, tensor_count_ = 0;
};

}  // namespace attend
