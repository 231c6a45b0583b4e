// A weight that is not a number, put into a safetensors file.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace attend {

// Writes `value` over number `place` of an F32 tensor.
inline void poison(const std::filesystem::path& file, const std::string& tensor, std::int64_t place,
                   float value) {
  std::fstream data(file, std::ios::binary | std::ios::in | std::ios::out);
  std::uint64_t size = 0;
  data.read(reinterpret_cast<char*>(&size), sizeof size);
  std::string header(size, '\0');
  data.read(header.data(), static_cast<std::streamsize>(size));
  const std::string offsets = "\"data_offsets\":[";
  const std::size_t at = header.find(offsets, header.find("\"" + tensor + "\""));
  if (!data || at == header.npos) throw std::runtime_error("no tensor " + tensor + " in " + file.string());
  const std::int64_t begin = std::stoll(header.substr(at + offsets.size()));
  data.seekp(static_cast<std::streamoff>(sizeof size + size) + begin + place * 4);
  data.write(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace attend
