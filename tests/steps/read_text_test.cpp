#include "steps/read_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "steps/refuses_lesson.h"
#include "steps/steps_file.h"

namespace attend::steps {
namespace {

// A file in the temporary folder, gone at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_(testing::TempDir() + "attend_read_text_" + std::to_string(::getpid())) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// While it lives, standard input delivers `content` through a pipe.
class PipedInput {
 public:
  explicit PipedInput(std::string content) : saved_(::dup(STDIN_FILENO)) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    writer_ = std::jthread([end = ends[1], text = std::move(content)] {
      std::size_t written = 0;
      while (written < text.size()) {
        const ssize_t count = ::write(end, text.data() + written, text.size() - written);
        if (count <= 0) break;
        written += static_cast<std::size_t>(count);
      }
      ::close(end);
    });
  }
  PipedInput(const PipedInput&) = delete;
  PipedInput& operator=(const PipedInput&) = delete;
  ~PipedInput() {
    writer_.join();
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
  }

 private:
  int saved_;
  std::jthread writer_;
};

TEST(ReadText, GivesEveryByte) {
  const std::string content = std::string("a\0b\r\n\xFF", 6) + std::string(200'000, 'x');
  EXPECT_EQ(read_text_file(TemporaryFile(content).path()), content);
  EXPECT_EQ(read_text_file(TemporaryFile("").path()), "");
  EXPECT_EQ(read_text_file("/dev/null"), "");
}

TEST(ReadText, DashIsStandardInput) {
  const std::string content(300'000, 'y');  // more than a pipe holds
  const PipedInput input(content);
  EXPECT_EQ(read_text_file("-"), content);
}

TEST(ReadText, SaysWhyNot) {
  EXPECT_REFUSES_LESSON(read_text_file("/no/such/file"), LessonCause::unreadable,
                        "/no/such/file: cannot be read: No such file or directory");
  EXPECT_REFUSES_LESSON(read_text_file(testing::TempDir()), LessonCause::unreadable,
                        ": cannot be read: Is a directory");
  EXPECT_REFUSES_LESSON(read_text_file(""), LessonCause::unreadable, "'': cannot be read: No such file");
  EXPECT_REFUSES_LESSON(read_text_file("a\nb"), LessonCause::unreadable, "a␊b: cannot be read");
  EXPECT_REFUSES_LESSON(read_text_file("/proc/self/mem"), LessonCause::unreadable,
                        "/proc/self/mem: cannot be read: Input/output error");
}

TEST(ReadText, SaysWhenPermissionIsMissing) {
  const TemporaryFile file("{}");
  std::filesystem::permissions(file.path(), std::filesystem::perms::none);
  constexpr uid_t kNobody = 65534;
  const uid_t user = ::geteuid();  // root may read everything, so root becomes nobody for a moment
  if (user == 0) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  EXPECT_REFUSES_LESSON(read_text_file(file.path()), LessonCause::unreadable, "Permission denied");
  if (user == 0) {
    ASSERT_EQ(::seteuid(user), 0);
  }
}

TEST(ReadText, RefusesALargeFileUnread) {
  const TemporaryFile file("");
  std::filesystem::resize_file(file.path(),
                               std::uintmax_t{1} << 40);  // sparse: a terabyte that takes no disk space
  EXPECT_REFUSES_LESSON(read_text_file(file.path()), LessonCause::too_large, ": is larger than 256 MiB");
}

TEST(ReadText, RefusesAnEndlessStream) {
  EXPECT_REFUSES_LESSON(read_text_file("/dev/zero"), LessonCause::too_large,
                        "/dev/zero: is larger than 256 MiB");
}

TEST(ReadLesson, ReadsAFileAndStandardInput) {
  const TemporaryFile file(R"({"x": [[1, 2]]})");
  EXPECT_EQ(read_lesson(file.path()).x->size(1), 2);
  const PipedInput input(R"({"x": [[1, 2], [3]]})");
  EXPECT_REFUSES_LESSON(read_lesson("-"), LessonCause::ragged_rows,
                        "standard input: line 1, column 16: x row 2 has 1 number, row 1 has 2");
}

}  // namespace
}  // namespace attend::steps
