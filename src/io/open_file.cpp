#include "io/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "io/fail.h"

namespace attend::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_read(const std::string& name, int error) {
  fail(name, "", "cannot be read: ", std::generic_category().message(error));
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// The blobs of the hub's cache that a snapshot's links may point into: REPO/snapshots/REVISION -> REPO/blobs.
// A folder of a snapshot (1_Pooling) lies one deeper.
fs::path blobs_of(fs::path folder) {
  for (int up = 0; up < 2; ++up) {
    if (folder.parent_path().filename() == "snapshots") return folder.parent_path().parent_path() / "blobs";
    folder = folder.parent_path();
  }
  return {};
}

}  // namespace

InputFile::InputFile(const fs::path& path) : InputFile(path, path.string()) {}

InputFile::InputFile(const fs::path& path, std::string name) : name_(std::move(name)) {
  // O_NONBLOCK: to open a pipe that nobody writes to would otherwise wait for ever. It changes nothing for
  // files.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) cannot_read(name_, errno);
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  const int error = errno;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::size_t>(status.st_size);
    modified_ = status.st_mtim;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    return;
  }
  ::close(descriptor_);  // there will be no destructor
  if (!known) cannot_read(name_, error);
  fail(name_, "", "is ", kind_of(status.st_mode), ", expected a file");
}

InputFile::InputFile(InputFile&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      modified_(other.modified_),
      device_(other.device_),
      inode_(other.inode_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile InputFile::duplicate() const {
  InputFile copy;
  copy.name_ = name_;
  copy.descriptor_ = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (copy.descriptor_ < 0) cannot_read(name_, errno);
  copy.size_ = size_;
  copy.modified_ = modified_;
  copy.device_ = device_;
  copy.inode_ = inode_;
  return copy;
}

bool InputFile::is_at(const fs::path& path) const noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

bool InputFile::changed() const noexcept {
  struct stat status {};
  return ::fstat(descriptor_, &status) != 0 || static_cast<std::size_t>(status.st_size) != size_ ||
         status.st_mtim.tv_sec != modified_.tv_sec || status.st_mtim.tv_nsec != modified_.tv_nsec;
}

void InputFile::read(std::size_t offset, std::span<char> into) const {
  while (!into.empty()) {
    const ssize_t count = ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_read(name_, errno);
    if (count == 0) fail(name_, "", "has become shorter while it was read");
    offset += static_cast<std::size_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
}

FileText read_text(const InputFile& file, std::size_t largest) {
  if (file.size() > largest) {
    fail(file.name(), "", "has ", file.size(), " bytes, expected at most ", largest);
  }
  FileText text{file.name(), std::make_unique_for_overwrite<char[]>(file.size()), file.size()};
  file.read(0, text.span());
  return text;
}

bool is_plain_name(std::string_view name) noexcept {
  if (name.empty() || name == "." || name == ".." || name.size() > 255) return false;
  return std::none_of(name.begin(), name.end(), [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
}

fs::path folder_inside(const fs::path& folder, const std::string& name) {
  if (name.empty()) return folder;
  if (!is_plain_name(name)) fail(folder.string(), name, "is not the name of a folder in this one");
  std::error_code error;
  const fs::path home = fs::canonical(folder, error);
  if (error) cannot_read(folder.string(), error.value());
  const fs::path path = folder / name, target = fs::canonical(path, error);
  if (error) cannot_read(path.string(), error.value());
  if (!lies_in(target, home)) fail(path.string(), "", "is a link that leaves the model's folder");
  return path;
}

InputFile open_inside(const fs::path& folder, const fs::path& name) {
  const fs::path path = folder / name;
  for (const fs::path& part : name) {
    if (!is_plain_name(part.string()) || name.is_absolute()) {
      fail(folder.string(), name.string(), "is not the name of a file in this folder");
    }
  }
  std::error_code error;
  const fs::path home = fs::canonical(folder, error);
  if (error) cannot_read(folder.string(), error.value());
  const fs::path target = fs::canonical(path, error);
  if (error) cannot_read(path.string(), error.value());
  const fs::path blobs = blobs_of(home);
  if (!lies_in(target, home) && (blobs.empty() || !lies_in(target, blobs))) {
    fail(path.string(), "", "is a link that leaves the model's folder, to ", shown(target.string()));
  }
  // A link may have been put in place of what was checked: what is open must lie where it was found.
  InputFile file(target, path.string());
  if (fs::canonical(path, error) != target || error || !file.is_at(target)) {
    fail(path.string(), "", "was replaced while it was opened");
  }
  return file;
}

bool exists_inside(const fs::path& folder, const fs::path& name) {
  std::error_code error;
  return fs::symlink_status(folder / name, error).type() != fs::file_type::not_found && !error;
}

}  // namespace attend::io
