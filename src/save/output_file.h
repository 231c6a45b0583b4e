// A file that appears under its name only when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "save/byte_output.h"

namespace attend::save {

// The bytes go into a file without a name where the system can (O_TMPFILE), so that even a killed program
// leaves nothing behind; elsewhere into a hidden one beside the target. Throws FileError.
class OutputFile final : public ByteOutput {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() override;

  const std::string& name() const noexcept { return name_; }
  std::uint64_t size() const noexcept override { return written_ + buffer_.size(); }

  void write(std::string_view bytes) override;
  void write_at(std::uint64_t offset, std::string_view bytes) override;

  // On the disk, then under its name.
  void commit();

 private:
  void open_unnamed();
  void open_hidden();
  void link_hidden();
  void flush();
  std::filesystem::path hidden_path() const;
  [[noreturn]] void cannot_write(int error) const;

  std::string name_;
  std::filesystem::path target_;  // where links lead
  std::filesystem::path hidden_;  // empty while the file has no name
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
  std::vector<char> buffer_;
};

}  // namespace attend::save
