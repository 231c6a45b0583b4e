#include "steps/read_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "draw/text_width.h"
#include "steps/lesson_error.h"

namespace attend::steps {
namespace {

// Closes what it opened; standard input is not ours to close.
class Input {
 public:
  explicit Input(const std::string& path)
      : descriptor_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }
  int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void refuse_unreadable(std::string_view name, int error) {
  refuse_lesson(LessonCause::unreadable, name, "cannot be read: ", std::generic_category().message(error));
}

}  // namespace

std::string display_name(std::string_view path) {
  if (path == "-") return "standard input";
  return path.empty() ? "''" : draw::printable(path);
}

void refuse_too_large(std::string_view name) {
  refuse_lesson(LessonCause::too_large, name, "is larger than ", kMaxLessonBytes >> 20, " MiB");
}

std::string read_text_file(const std::string& path) {
  const std::string name = display_name(path);
  const Input input(path);
  if (input.descriptor() < 0) refuse_unreadable(name, errno);

  struct stat status {};
  if (::fstat(input.descriptor(), &status) != 0) refuse_unreadable(name, errno);
  if (S_ISREG(status.st_mode) && status.st_size > static_cast<off_t>(kMaxLessonBytes)) refuse_too_large(name);

  // Pipes and devices do not know their size, and a file may grow while it is read: count what arrives.
  std::string text;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    const ssize_t count = ::read(input.descriptor(), chunk.data(), chunk.size());
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      refuse_unreadable(name, errno);
    }
    if (text.size() + static_cast<std::size_t>(count) > kMaxLessonBytes) refuse_too_large(name);
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace attend::steps
