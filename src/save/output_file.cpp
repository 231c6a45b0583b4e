#include "save/output_file.h"

#include <attend/file_error.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace attend::save {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBuffer = std::size_t{1} << 20;

// Everything or an errno.
int write_all(int descriptor, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    offset += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

OutputFile::OutputFile(const fs::path& path) : name_(path.string()), target_(path) {
  std::error_code error;
  if (fs::is_symlink(path, error)) {
    target_ = fs::weakly_canonical(path, error);
    if (error) cannot_write(error.value());
  }
  const fs::file_status there = fs::status(target_, error);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    throw FileError(name_, "",
                    fs::is_directory(there) ? "is a folder, expected a file" : "is not a regular file");
  }
  buffer_.reserve(kBuffer);
  open_unnamed();
  if (descriptor_ < 0) open_hidden();
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0)
    ::fchmod(descriptor_, old.st_mode & 07777);  // a new file keeps the old one's rights
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!hidden_.empty()) ::unlink(hidden_.c_str());
}

void OutputFile::open_unnamed() {
#if defined(O_TMPFILE)
  // It gets its name through /proc, so without that there is no use in trying.
  if (::access("/proc/self/fd", X_OK) != 0) return;
  descriptor_ = ::open(folder_of(target_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#endif
}

void OutputFile::open_hidden() {
  hidden_ = hidden_path();
  descriptor_ = ::open(hidden_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) return;
  const int error = errno;
  hidden_.clear();  // not ours to remove
  cannot_write(error);
}

// Unlike any other of this process or of another that runs.
fs::path OutputFile::hidden_path() const {
  static std::atomic<unsigned> count = 0;
  const std::string mark = std::to_string(::getpid()) + "-" + std::to_string(count++);
  return folder_of(target_) / ("." + target_.filename().string().substr(0, 200) + "." + mark + ".part");
}

void OutputFile::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() < kBuffer) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return;
  }
  if (const int error = write_all(descriptor_, written_, bytes)) cannot_write(error);
  written_ += bytes.size();
}

void OutputFile::flush() {
  if (const int error = write_all(descriptor_, written_, {buffer_.data(), buffer_.size()}))
    cannot_write(error);
  written_ += buffer_.size();
  buffer_.clear();
}

void OutputFile::write_at(std::uint64_t offset, std::string_view bytes) {
  flush();
  if (const int error = write_all(descriptor_, offset, bytes)) cannot_write(error);
}

// rename can replace a file and linkat cannot, so the file without a name gets a hidden one first.
void OutputFile::link_hidden() {
  const fs::path hidden = hidden_path();
  const std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, hidden.c_str(), AT_SYMLINK_FOLLOW) != 0) cannot_write(errno);
  hidden_ = hidden;
}

void OutputFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) cannot_write(errno);
  if (hidden_.empty()) link_hidden();
  if (::rename(hidden_.c_str(), target_.c_str()) != 0) cannot_write(errno);
  hidden_.clear();
  // The name is on the disk once the folder is; a file system that cannot say so has done what it can.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

void OutputFile::cannot_write(int error) const {
  throw FileError(name_, "", "cannot be written: " + std::generic_category().message(error));
}

}  // namespace attend::save
