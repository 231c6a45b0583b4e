// Files that change their place while they are open.
#include "io/open_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/file_error.h"

namespace attend::io {
namespace {

namespace fs = std::filesystem;

class OpenFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("attend_open_file_" + std::to_string(getpid()));
    fs::create_directories(folder_ / "model");
    write("model/file", "inside");
    write("outside", "outside");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const char* name, std::string_view text) const { std::ofstream(folder_ / name) << text; }
  static std::string text_of(const InputFile& file) {
    const FileText text = read_text(file, 100);
    return {text.memory.get(), text.size};
  }
  fs::path folder_;
};

TEST_F(OpenFile, IsReadAsItWasOpened) {
  const fs::path model = folder_ / "model";
  const InputFile file = open_inside(model, "file");
  EXPECT_TRUE(file.is_at(model / "file"));
  fs::remove(model / "file");
  fs::create_symlink(folder_ / "outside", model / "file");
  EXPECT_FALSE(file.is_at(model / "file"));
  EXPECT_EQ(text_of(file), "inside");
  EXPECT_EQ(text_of(file.duplicate()), "inside");
  EXPECT_FILE_ERROR(open_inside(model, "file"), "", "is a link that leaves the model's folder");
}

TEST_F(OpenFile, OutlivesTheOneItWasDuplicatedFrom) {
  const auto again = [&] { return InputFile(folder_ / "outside").duplicate(); };
  const InputFile file = again();
  EXPECT_EQ(file.name(), (folder_ / "outside").string());
  EXPECT_EQ(text_of(file), "outside");
}

}  // namespace
}  // namespace attend::io
