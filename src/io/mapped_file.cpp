#include "io/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "io/bus_errors.h"
#include "io/fail.h"

namespace attend::io {

MappedFile::MappedFile(InputFile file) : file_(std::move(file)) {
  if (file_.size() == 0) return;  // nothing to map, and mmap refuses it
  void* const memory = ::mmap(nullptr, file_.size(), PROT_READ, MAP_PRIVATE, file_.descriptor(), 0);
  if (memory == MAP_FAILED) {
    fail(file_.name(), "", "cannot be mapped into memory: ", std::generic_category().message(errno));
  }
  if (!watch_mapping(memory, file_.size(), damaged_)) {
    ::munmap(memory, file_.size());
    fail(file_.name(), "", "cannot be opened: ", kMaxWatchedMappings, " files of weights are open already");
  }
  data_ = static_cast<const std::byte*>(memory);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  void* const memory = const_cast<std::byte*>(data_);
  unwatch_mapping(memory);
  ::munmap(memory, file_.size());
}

void MappedFile::require_intact() const {
  // Within its last page a shortened file reads as zeros without any signal, so its size is asked as well.
  if (damaged_.load(std::memory_order_acquire) || file_.changed()) {
    fail(file_.name(), "", "was cut short, changed or unreadable while it was in use");
  }
}

void MappedFile::forget(const std::byte* begin, std::size_t bytes) const noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (address + page - 1) / page * page, last = (address + bytes) / page * page;
  // Never written to, so nothing is lost; a page that stands in for a lost one stays zero.
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace attend::io
