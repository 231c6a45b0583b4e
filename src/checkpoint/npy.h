// NumPy's format for one array: a header that is a Python dictionary, then the numbers.
#pragma once

#include <attend/tensor.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "io/byte_source.h"

namespace attend::checkpoint {

inline constexpr std::size_t kMaxNpyHeader = std::size_t{1} << 16;

struct NpyHeader {
  DType dtype = DType::f32;    // what it is read as
  std::size_t item_bytes = 0;  // what one number takes in the file
  Dims shape;                  // at most four sizes
  bool fortran_order = false;  // the first index changes quickest
  std::size_t data_start = 0;  // after the header
};

// The header at the start of `size` bytes, of which `start` are the first kMaxNpyHeader or all. The numbers
// must fill the rest exactly. `where` is what refusals name. Types: f2, f4, f8, i4, i8 and b1, little-endian;
// objects, records and other types are refused by name. Throws FileError.
NpyHeader parse_npy(std::string_view file, std::string_view where, std::string_view start, std::size_t size);

// The array in bytes [offset, offset + size) of a file: row-major, i4 as i64. `crc`, where it is given, is
// that of all these bytes, and checked.
Tensor read_npy(const io::ByteSource& bytes, std::string_view where, std::size_t offset, std::size_t size,
                const std::uint32_t* crc = nullptr);

}  // namespace attend::checkpoint
