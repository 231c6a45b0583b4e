// Files of unknown origin: opened only if they are files, and inside a model's folder only if they stay
// there.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace attend::io {

// A regular file, open for reading.
class InputFile {
 public:
  // Follows links: the caller has named this very file. Throws FileError for what is missing, unreadable, or
  // not a regular file; a named pipe is never waited for.
  explicit InputFile(const std::filesystem::path& path);
  // The same file under another name in messages.
  InputFile(const std::filesystem::path& path, std::string name);
  InputFile(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  const std::string& name() const noexcept { return name_; }
  std::size_t size() const noexcept { return size_; }  // when it was opened
  bool changed() const noexcept;                       // since then, in size or time of change
  int descriptor() const noexcept { return descriptor_; }
  InputFile duplicate() const;  // the same open file once more, for another owner

  // Whether this path leads to the file that is open.
  bool is_at(const std::filesystem::path& path) const noexcept;

  // Exactly these bytes; throws FileError where the file has become shorter.
  void read(std::size_t offset, std::span<char> into) const;

 private:
  InputFile() = default;
  std::string name_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
  timespec modified_{};
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// A file's text in memory of its own.
struct FileText {
  std::string name;
  std::unique_ptr<char[]> memory;
  std::size_t size = 0;
  std::span<char> span() const noexcept { return {memory.get(), size}; }
};
FileText read_text(const InputFile& file, std::size_t largest);

// The name of one file or folder and nothing more: not empty, "." or "..", without separators and control
// characters.
bool is_plain_name(std::string_view name) noexcept;

// Opens folder/name, where `name` (with at most one folder, "1_Pooling/config.json") may come from somebody
// else. A link is followed only to a place inside the folder, or, in the hub's cache, from snapshots/REVISION
// into blobs/ beside it.
InputFile open_inside(const std::filesystem::path& folder, const std::filesystem::path& name);

// folder/name, refused when it is a link that leads out of the folder. An empty name is the folder itself.
std::filesystem::path folder_inside(const std::filesystem::path& folder, const std::string& name);

// Whether there is anything of that name.
bool exists_inside(const std::filesystem::path& folder, const std::filesystem::path& name);

}  // namespace attend::io
