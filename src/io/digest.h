// SHA-1 and SHA-256, by which the hub names the contents of files and a page the scripts it trusts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attend::io {

// Cuts a stream into blocks of 64 bytes and pads its end, as both standards (FIPS 180-4) want it.
class BlockStream {
 public:
  virtual ~BlockStream() = default;
  void add(std::string_view bytes);

 protected:
  void pad();
  virtual void block(const unsigned char* bytes) = 0;

 private:
  std::array<unsigned char, 64> pending_{};
  std::uint64_t size_ = 0;
};

class Sha1 final : public BlockStream {
 public:
  std::string hex();  // once, at the end

 private:
  void block(const unsigned char* bytes) override;
  std::array<std::uint32_t, 5> state_ = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
};

class Sha256 final : public BlockStream {
 public:
  // Either of them once, at the end.
  std::string hex();
  std::string bytes();

 private:
  void block(const unsigned char* bytes) override;
  std::array<std::uint32_t, 8> state_ = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                         0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
};

}  // namespace attend::io
