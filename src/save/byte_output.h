// Where the bytes of a format go: a file, or memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace attend::save {

class ByteOutput {
 public:
  virtual ~ByteOutput() = default;
  virtual std::uint64_t size() const noexcept = 0;
  virtual void write(std::string_view bytes) = 0;                           // at the end
  virtual void write_at(std::uint64_t offset, std::string_view bytes) = 0;  // over what is there
};

class MemoryOutput final : public ByteOutput {
 public:
  std::uint64_t size() const noexcept override { return bytes_.size(); }
  void write(std::string_view bytes) override { bytes_ += bytes; }
  void write_at(std::uint64_t offset, std::string_view bytes) override {
    bytes_.replace(static_cast<std::size_t>(offset), bytes.size(), bytes);
  }
  std::string take() noexcept { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace attend::save
