#include "draw/page/png.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "io/crc32.h"

namespace attend::draw {
namespace {

void put_big_endian(std::string& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
}

void put_chunk(std::string& png, std::string_view kind, std::string_view data) {
  put_big_endian(png, static_cast<std::uint32_t>(data.size()));
  png.append(kind).append(data);
  put_big_endian(png, io::crc32(io::crc32(0, kind), data));
}

std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t a = 1, b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

// A zlib stream of stored (uncompressed) blocks.
std::string stored(std::string_view bytes) {
  constexpr std::size_t kLargestBlock = 65535;
  std::string stream = "\x78\x01";
  const std::string_view all = bytes;
  do {
    const std::string_view block = bytes.substr(0, kLargestBlock);
    bytes.remove_prefix(block.size());
    const auto size = static_cast<std::uint16_t>(block.size());
    const auto inverse = static_cast<std::uint16_t>(~size);
    stream += bytes.empty() ? '\x01' : '\x00';
    for (const std::uint16_t number : {size, inverse}) {
      stream += static_cast<char>(number & 0xFF);
      stream += static_cast<char>(number >> 8);
    }
    stream += block;
  } while (!bytes.empty());
  put_big_endian(stream, adler32(all));
  return stream;
}

}  // namespace

std::string cells_png(const CellImage& image) {
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
  std::string header;
  put_big_endian(header, static_cast<std::uint32_t>(image.columns));
  put_big_endian(header, static_cast<std::uint32_t>(image.rows));
  header +=
      std::string_view("\x08\x03\x00\x00\x00", 5);  // 8 bits, a palette; the only compression, no filter
  std::string palette;
  for (const Rgb color : cell_palette()) {
    for (const std::uint8_t channel : {color.r, color.g, color.b}) palette += static_cast<char>(channel);
  }
  std::string rows;
  for (std::size_t i = 0; i < image.rows; ++i) {
    rows += '\0';  // this row is not filtered
    for (std::size_t j = 0; j < image.columns; ++j)
      rows += static_cast<char>(image.cells[i * image.columns + j]);
  }
  std::string png(kSignature);
  put_chunk(png, "IHDR", header);
  put_chunk(png, "PLTE", palette);
  put_chunk(png, "IDAT", stored(rows));
  put_chunk(png, "IEND", "");
  return png;
}

}  // namespace attend::draw
