// A file in the cache that grows until it is complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace attend::hub {

// Locked by this process: another process that downloads the same file gets a FileError. Throws FileError.
class PartialFile {
 public:
  PartialFile(std::string repository, const std::filesystem::path& path);  // resumes what is there
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  std::uint64_t size() const noexcept { return size_; }
  bool exists() const noexcept { return !removed_; }
  void write(std::string_view bytes);
  void restart();  // from the beginning
  void remove();

  // SHA-256 of the bytes for an etag of 64 digits, git's hash for one of 40; for any other, the etag itself,
  // which says nothing about the bytes.
  std::string hash_like(const std::string& etag);

  // Flushes it to disk, then gives it this name.
  void become(const std::filesystem::path& path);

 private:
  [[noreturn]] void cannot(const char* what, int error) const;

  std::string repository_;
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  bool removed_ = false;
};

}  // namespace attend::hub
