// A file's bytes in memory without a copy, safe against what happens to the file meanwhile.
#pragma once

#include <atomic>
#include <cstddef>

#include "io/open_file.h"

namespace attend::io {

// The whole file, read-only. When another process cuts the file short (or the disk fails), the memory that is
// lost reads as zeros instead of ending the program with SIGBUS, and require_intact() throws:
// docs/checkpoints.md says how and why.
class MappedFile {
 public:
  explicit MappedFile(InputFile file);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const InputFile& file() const noexcept { return file_; }
  const std::byte* data() const noexcept { return data_; }

  // Throws FileError when bytes were lost, or when the file's size or time of change is no longer what it
  // was.
  void require_intact() const;

  // These bytes will not be needed soon: gives their pages back. They can still be read, from the disk again.
  void forget(const std::byte* begin, std::size_t bytes) const noexcept;

 private:
  InputFile file_;
  const std::byte* data_ = nullptr;
  std::atomic<bool> damaged_ = false;
};

}  // namespace attend::io
