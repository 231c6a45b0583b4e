// Any bytes as the file of a recorded pass: a reading that answers, or FileError.
#include <attend/lens.h>
#include <attend/lens_heads.h>
#include <attend/lens_recording.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "fuzz/file_text.h"

namespace {

// Recordings are read through their file, which is mapped into memory.
class FileInMemory {
 public:
  FileInMemory(const std::uint8_t* data, std::size_t size) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    attend::require(descriptor_ >= 0 && write(descriptor_, data, size) == static_cast<ssize_t>(size));
  }
  FileInMemory(const FileInMemory&) = delete;
  FileInMemory& operator=(const FileInMemory&) = delete;
  ~FileInMemory() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  const FileInMemory file(data, size);
  try {
    const Reading reading(load_recording(file.path()));
    const std::vector<Word> tokens = single_tokens(reading);
    require(static_cast<std::int64_t>(tokens.size()) == reading.size() && !reading.words().empty());
    require(lens_row(reading, {.method = LensMethod::rollout}, reading.words(), 0).size() ==
            reading.words().size());
    require(profile_heads(reading, {}).size() ==
            static_cast<std::size_t>(reading.layers() * reading.heads()));
  } catch (const FileError& error) {
    const std::string_view sentence = error.what();
    require(sentence.starts_with("/proc/self/fd/") && sentence.size() < 600);
    require(std::none_of(sentence.begin(), sentence.end(),
                         [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }));
  }
  return 0;
}
