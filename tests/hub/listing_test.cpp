#include "hub/listing.h"

#include <gtest/gtest.h>

#include "support/file_error.h"

namespace attend::hub {
namespace {

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";

Listing parse(const std::string& text) { return parse_listing("org/name", text); }

TEST(Listing, NamesFilesAndCommit) {
  const Listing listing =
      parse(R"({"id":"org/name","sha":")" + kCommit +
            R"(","siblings":[{"rfilename":"a","size":1,"lfs":{"sha256":"x"}},{"rfilename":"b"}],"tags":[]})");
  EXPECT_EQ(listing.commit, kCommit);
  EXPECT_EQ(listing.files, (std::vector<std::string>{"a", "b"}));
}

TEST(Listing, RefusesNonsense) {
  EXPECT_FILE_ERROR(parse(""), "the hub's answer byte 0", "found the end of the text");
  EXPECT_FILE_ERROR(parse("{}"), "", "names no commit");
  EXPECT_FILE_ERROR(parse(R"({"sha":"main","siblings":[]})"), "", "names no commit");
  EXPECT_FILE_ERROR(parse(R"({"sha":")" + kCommit.substr(1) + R"("})"), "", "names no commit");
  EXPECT_FILE_ERROR(parse(R"({"siblings":[1]})"), "siblings", "expected an object");
  EXPECT_FILE_ERROR(parse(R"({"siblings":[{"rfilename":1}]})"), "rfilename", "expected a string");
}

TEST(Listing, ChoosesWhatAttendReads) {
  const auto wanted = [](const std::vector<std::string>& files) { return wanted_files("org/name", files); };
  using Names = std::vector<std::string>;
  EXPECT_EQ(wanted({"model.safetensors", "config.json", "README.md", "pytorch_model.bin", "tf_model.h5"}),
            (Names{"config.json", "model.safetensors"}));
  EXPECT_EQ(wanted({"model.safetensors", "model.safetensors.index.json", "model-00001-of-00001.safetensors"}),
            (Names{"model.safetensors"}));
  EXPECT_EQ(wanted({"model.safetensors.index.json", "model-00001-of-00002.safetensors",
                    "model-00002-of-00002.safetensors"}),
            (Names{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                   "model.safetensors.index.json"}));
  EXPECT_EQ(
      wanted({"model.safetensors", "1_Pooling/config.json", "2_Dense/model.safetensors", "onnx/config.json",
              "_1/config.json", "1/config.json", "1_A/b/config.json", "../config.json", "/config.json"}),
      (Names{"1_Pooling/config.json", "2_Dense/model.safetensors", "model.safetensors"}));
  EXPECT_EQ(wanted({"model.safetensors", "model.safetensors"}), (Names{"model.safetensors"}));
  EXPECT_FILE_ERROR(wanted({"config.json", "pytorch_model.bin"}), "", "has no safetensors");
  EXPECT_FILE_ERROR(wanted({}), "", "has no safetensors");
}

}  // namespace
}  // namespace attend::hub
