#include "save/npy_header.h"

#include <limits>

#include "base/error.h"

namespace attend::save {
namespace {

constexpr std::size_t kPreamble = 10;  // magic, version, length

const char* description(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::f16:
      return "<f2";
    case DType::boolean:
      return "|b1";
    case DType::i64:
      return "<i8";
    case DType::bf16:
      break;
  }
  refuse("save", "NumPy has no bf16; convert to f32 or f16, or write .safetensors");
}

std::string dictionary(DType dtype, const Dims& shape) {
  // to_string writes a tuple as Python does.
  return std::string("{'descr': '") + description(dtype) +
         "', 'fortran_order': False, 'shape': " + to_string(shape) + ", }";
}

}  // namespace

std::size_t npy_header_bytes(DType dtype, const Dims& shape) {
  Dims longest = shape;
  if (longest.rank() > 0) longest[0] = std::numeric_limits<std::int64_t>::max();
  return (kPreamble + dictionary(dtype, longest).size() + 1 + 63) / 64 * 64;
}

std::string npy_header(DType dtype, const Dims& shape, std::size_t bytes) {
  const std::size_t length = bytes - kPreamble;
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(static_cast<unsigned char>(length & 0xFF));
  header += static_cast<char>(static_cast<unsigned char>(length >> 8));
  header += dictionary(dtype, shape);
  header.resize(bytes - 1, ' ');
  return header + '\n';
}

}  // namespace attend::save
