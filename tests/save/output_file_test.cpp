// Files appear complete or not at all.
#include "save/output_file.h"

#include <attend/file_error.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "support/file_error.h"
#include "support/temporary_folder.h"

namespace attend::save {
namespace {

namespace fs = std::filesystem;

std::string file_content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t entries(const TemporaryFolder& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

TEST(OutputFile, AppearsOnCommit) {
  const TemporaryFolder folder;
  OutputFile file(folder / "x");
  file.write("hello ");
  file.write("world");
  file.write_at(0, "J");
  EXPECT_EQ(file.size(), 11u);
  EXPECT_FALSE(fs::exists(folder / "x"));
  file.commit();
  EXPECT_EQ(file_content(folder / "x"), "Jello world");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(OutputFile, LargeAndSmallPiecesStayInOrder) {
  const TemporaryFolder folder;
  std::string expected;
  OutputFile file(folder / "x");
  for (const std::size_t size : {std::size_t{3}, std::size_t{1} << 20, std::size_t{5},
                                 (std::size_t{1} << 20) - 1, std::size_t{2}, std::size_t{3} << 20}) {
    const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(file_content(folder / "x"), expected);
}

TEST(OutputFile, NothingRemainsWithoutCommit) {
  const TemporaryFolder folder;
  folder.write("x", "old");
  {
    OutputFile file(folder / "x");
    file.write("new");
  }
  EXPECT_EQ(file_content(folder / "x"), "old");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(OutputFile, ReplacesAFileAndKeepsItsRights) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("x", "old");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  OutputFile file(path);
  file.write("new");
  file.commit();
  EXPECT_EQ(file_content(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(OutputFile, WritesThroughALink) {
  const TemporaryFolder folder;
  folder.write("real", "old");
  fs::create_symlink("real", folder / "link");
  OutputFile file(folder / "link");
  file.write("new");
  file.commit();
  EXPECT_EQ(file_content(folder / "real"), "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
}

TEST(OutputFile, SaysWhyItCannot) {
  const TemporaryFolder folder;
  EXPECT_FILE_ERROR(OutputFile(folder / "missing" / "x"), "", "cannot be written: No such file");
  EXPECT_FILE_ERROR(OutputFile(folder.path()), "", "is a folder");
  EXPECT_FILE_ERROR(OutputFile("/dev/null"), "", "is not a regular file");
}

// Killed at any of these moments, the old file is there and nothing else.
TEST(OutputFile, AKilledProgramLeavesTheOldFile) {
  const TemporaryFolder folder;
  folder.write("x", "old");
  for (int moment = 0; moment < 3; ++moment) {
    const pid_t child = ::fork();
    if (child == 0) {
      OutputFile file(folder / "x");
      if (moment > 0) file.write(std::string(2 << 20, 'n'));
      if (moment > 1) file.write_at(0, "new");
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(file_content(folder / "x"), "old") << moment;
    EXPECT_EQ(entries(folder), 1u) << moment;
  }
}

// Killed while it saves again and again, at some moment or other: the file is one of those it saved, and
// complete.
TEST(OutputFile, AnInterruptedSaveLeavesAWholeFile) {
  const TemporaryFolder folder;
  folder.write("x", std::string(100'000, 'a'));
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (char letter = 'b';; letter = letter == 'z' ? 'b' : static_cast<char>(letter + 1)) {
        OutputFile file(folder / "x");
        for (int piece = 0; piece < 10; ++piece) file.write(std::string(10'000, letter));
        file.commit();
      }
    }
    ::usleep(static_cast<useconds_t>(500 + 370 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    const std::string now = file_content(folder / "x");
    ASSERT_EQ(now.size(), 100'000u);
    ASSERT_EQ(now.find_first_not_of(now.front()), std::string::npos) << round;
  }
}

}  // namespace
}  // namespace attend::save
