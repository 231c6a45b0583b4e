#include "hub/partial_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "io/digest.h"
#include "io/fail.h"

namespace attend::hub {
namespace {

bool is_hash(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

PartialFile::PartialFile(std::string repository, const std::filesystem::path& path)
    : repository_(std::move(repository)), path_(path) {
  descriptor_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) cannot("opened", errno);
  struct stat status {};
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 || ::fstat(descriptor_, &status) != 0) {
    const int error = errno;
    ::close(descriptor_);
    if (error == EWOULDBLOCK) io::fail(repository_, "", "is being downloaded by another process");
    cannot("opened", error);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

PartialFile::~PartialFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void PartialFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot("written", errno);
    size_ += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void PartialFile::restart() {
  if (::ftruncate(descriptor_, 0) != 0) cannot("written", errno);
  size_ = 0;
}

void PartialFile::remove() {
  ::unlink(path_.c_str());
  removed_ = true;
}

std::string PartialFile::hash_like(const std::string& etag) {
  const bool large = is_hash(etag, 64);
  if (!large && !is_hash(etag, 40)) return etag;
  io::Sha256 sha256;
  io::Sha1 git;
  if (!large) git.add("blob " + std::to_string(size_) + std::string(1, '\0'));
  std::vector<char> buffer(std::size_t{1} << 20);
  for (std::uint64_t offset = 0; offset < size_;) {
    const ssize_t count = ::pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) cannot("read", count < 0 ? errno : EIO);
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    large ? sha256.add(bytes) : git.add(bytes);
    offset += static_cast<std::uint64_t>(count);
  }
  return large ? sha256.hex() : git.hex();
}

void PartialFile::become(const std::filesystem::path& path) {
  if (::fsync(descriptor_) != 0) cannot("written", errno);
  if (::rename(path_.c_str(), path.c_str()) != 0) cannot("renamed", errno);
  removed_ = true;
}

void PartialFile::cannot(const char* what, int error) const {
  io::fail(path_.string(), "", "cannot be ", what, ": ", std::generic_category().message(error));
}

}  // namespace attend::hub
