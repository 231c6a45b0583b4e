// What stands in front of the data of a GGUF file: metadata, and which tensors there are and where.
#pragma once

#include <attend/gguf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf_types.h"
#include "io/fail.h"

namespace attend::checkpoint {

inline constexpr std::string_view kGgufMagic = "GGUF";

// attend's limits: a file has some dozens of keys and a few thousand tensors.
inline constexpr std::uint64_t kMostGgufKeys = 1 << 16, kMostGgufTensors = 1 << 16;
inline constexpr std::uint64_t kLongestGgufKey = 65535, kLongestGgufName = 64;  // the format's
inline constexpr std::uint64_t kLargestGgufAlignment = 1 << 20;

struct GgufEntry {
  std::string key;
  GgufType type = GgufType::u8;  // of an array: that of its elements
  bool is_array = false;
  std::uint64_t count = 1;         // of an array's elements
  std::size_t begin = 0, end = 0;  // of the value's bytes, without the type and the count
};

struct GgufTensor {
  std::string name;
  const GgufTensorType* type = nullptr;
  int rank = 0;
  std::array<std::int64_t, 4> shape{};  // rows first, unlike in the file
  std::uint64_t begin = 0, end = 0;     // bytes of the data
};

struct GgufHeader {
  std::uint32_t version = 0;
  std::size_t data_start = 0;       // in the file
  std::vector<GgufEntry> metadata;  // by key
  std::vector<GgufTensor> tensors;  // by name
};

// Bytes of unknown origin, read from front to back. Nothing is read or believed before it is known to be
// there.
class GgufCursor {
 public:
  GgufCursor(std::string_view file, std::span<const std::byte> bytes, std::size_t at = 0)
      : file_(file), bytes_(bytes), at_(at) {}

  std::size_t at() const noexcept { return at_; }
  std::size_t left() const noexcept { return bytes_.size() - at_; }

  // `where` is what a refusal names, `what` is what the bytes are.
  const std::byte* take(std::uint64_t count, std::string_view where, std::string_view what) {
    if (count > left()) {
      io::fail(file_, where, "the file ends inside ", what, ", which takes ", count, " bytes where ", left(),
               " are left");
    }
    const std::byte* const from = bytes_.data() + at_;
    at_ += static_cast<std::size_t>(count);
    return from;
  }
  std::uint64_t number(int bytes, std::string_view where, std::string_view what) {
    const std::byte* const from = take(static_cast<std::uint64_t>(bytes), where, what);
    std::uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(from[i]);
    return value;
  }
  std::uint32_t u32(std::string_view where, std::string_view what) {
    return static_cast<std::uint32_t>(number(4, where, what));
  }
  std::uint64_t u64(std::string_view where, std::string_view what) { return number(8, where, what); }
  std::string_view string(std::string_view where, std::string_view what) {
    const std::uint64_t length = u64(where, what);
    return {reinterpret_cast<const char*>(take(length, where, what)), static_cast<std::size_t>(length)};
  }

 private:
  std::string_view file_;
  std::span<const std::byte> bytes_;
  std::size_t at_;
};

// Bytes of one value of this type; 0 for strings and arrays, which have no size of their own.
std::size_t gguf_size_of(GgufType type) noexcept;

// Checks every rule of the format before anything is believed; throws FileError. `bytes` are the whole file.
GgufHeader parse_gguf(const std::string& file, std::span<const std::byte> bytes);

}  // namespace attend::checkpoint
