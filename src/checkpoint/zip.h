// The members of a zip archive, as numpy.savez writes it: stored as they are, not compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/byte_source.h"

namespace attend::checkpoint {

inline constexpr std::size_t kMaxZipMembers = 4096;
inline constexpr std::size_t kMaxZipDirectory = std::size_t{4} << 20;

struct ZipMember {
  std::string name;
  std::size_t offset = 0, size = 0;  // of its data in the file
  std::uint32_t crc = 0;
};

// Checks the directory and every member's place: inside the file, before the directory, overlapping no other.
// Compressed and encrypted members are refused by name. In the order of the directory. Throws FileError.
std::vector<ZipMember> list_zip(const io::ByteSource& bytes);

}  // namespace attend::checkpoint
