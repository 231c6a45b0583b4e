// The checksum of zip archives.
#pragma once

#include <cstdint>
#include <string_view>

namespace attend::io {

// Of `bytes` after what gave `crc`; start with 0.
std::uint32_t crc32(std::uint32_t crc, std::string_view bytes) noexcept;

// Of a text followed by another of `length` bytes, from the checksums of both.
std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::uint64_t length) noexcept;

}  // namespace attend::io
