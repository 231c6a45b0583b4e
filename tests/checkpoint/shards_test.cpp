// Several files with an index, and where their names may point.
#include <attend/checkpoint.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "checkpoint/safetensors_bytes.h"
#include "support/file_error.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";

std::string index_of(const std::string& map) {
  return R"({"metadata":{"total_size":8},"weight_map":{)" + map + "}}";
}

// A folder whose index puts tensor "a" into a file of this name.
fs::path folder_with(const TemporaryFolder& folder, const std::string& name) {
  folder.write(fs::path("model") / kIndex, index_of(R"("a":")" + name + '"'));
  return folder / "model";
}

TEST(Shards, EachTensorComesFromItsFile) {
  const TemporaryFolder folder;
  folder.write("one.safetensors", one_tensor("a"));
  folder.write("two.safetensors", one_tensor("b"));
  const auto index = folder.write(kIndex, index_of(R"("b":"two.safetensors","a":"one.safetensors")"));
  for (const fs::path& path : {folder.path(), index}) {
    const Checkpoint weights = Checkpoint::open(path);
    EXPECT_EQ(weights.names(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(weights.info("a").file, (folder / "one.safetensors").string());
    EXPECT_EQ(weights.info("b").file, (folder / "two.safetensors").string());
    EXPECT_EQ(weights.tensor("b").shape(), (Dims{1}));
    EXPECT_FALSE(weights.contains("c"));
  }
}

TEST(Shards, BadIndexesAreRefused) {
  const TemporaryFolder folder;
  folder.write("one.safetensors", one_tensor("a"));
  const auto refuses = [&](const std::string& text, const std::string& where, const std::string& rule) {
    EXPECT_FILE_ERROR(Checkpoint::open(folder.write(kIndex, text)), where, rule);
  };
  refuses("", "byte 0", "expected a value, found the end");
  refuses("[]", "", "expected an object, found an array");
  refuses("{}", "", "has no weight_map");
  refuses(R"({"weight_map":[]})", "weight_map", "expected an object");
  refuses(R"({"weight_map":{}})", "weight_map", "names no tensor");
  refuses(R"({"weight_map":{"a":"one.safetensors"},"weight_map":{"a":"one.safetensors"}})", "", "twice");
  refuses(index_of(R"("a":1)"), "a", "expected a string");
  refuses(index_of(R"("a":"one.safetensors","a":"one.safetensors")"), "weight_map", "\"a\" twice");
  refuses(index_of(R"("b":"one.safetensors")"), "b", "is not in one.safetensors");
  refuses(index_of(R"("a":"one.safetensors")") + "x", "byte 66", "nothing after the last bracket");
  std::string many;
  for (int i = 0; i < 513; ++i) {
    const std::string n = std::to_string(i);
    many += (i == 0 ? "\"" : ",\"") + n + "\":\"" + n + ".safetensors\"";
  }
  refuses(index_of(many), "512", "at most 512");
}

TEST(Shards, NamesMustStayInTheFolder) {
  const TemporaryFolder folder;
  folder.write("outside.safetensors", one_tensor("a"));
  for (const char* const name :
       {"../outside.safetensors", "..", ".", "", "/etc/passwd", "sub/one.safetensors",
        "..\\\\outside.safetensors", "one.bin", "pytorch_model.bin"}) {
    EXPECT_FILE_ERROR(Checkpoint::open(folder_with(folder, name)), "a",
                      "is not the name of a .safetensors file")
        << name;
  }
  EXPECT_FILE_ERROR(Checkpoint::open(folder_with(folder, "missing.safetensors")), "", "No such file");
}

TEST(Shards, LinksMustStayInTheFolder) {
  const TemporaryFolder folder;
  const auto outside = folder.write("outside.safetensors", one_tensor("a"));
  const fs::path model = folder_with(folder, "link.safetensors");
  fs::create_symlink(outside, model / "link.safetensors");
  EXPECT_FILE_ERROR(Checkpoint::open(model), "", "is a link that leaves the model's folder");
  fs::remove(model / "link.safetensors");
  fs::create_symlink("../outside.safetensors", model / "link.safetensors");
  EXPECT_FILE_ERROR(Checkpoint::open(model), "", "is a link that leaves the model's folder");
  fs::remove(model / "link.safetensors");
  folder.write("model/inside.safetensors", one_tensor("a"));
  fs::create_symlink("inside.safetensors", model / "link.safetensors");
  EXPECT_NO_THROW(Checkpoint::open(model));
  fs::remove(model / "link.safetensors");
  fs::create_symlink("link.safetensors", model / "link.safetensors");
  EXPECT_FILE_ERROR(Checkpoint::open(model), "", "cannot be read");
}

TEST(Shards, PipesAndDevicesAreRefusedAndNotWaitedFor) {
  const TemporaryFolder folder;
  const fs::path model = folder_with(folder, "pipe.safetensors");
  ASSERT_EQ(::mkfifo((model / "pipe.safetensors").c_str(), 0600), 0);
  EXPECT_FILE_ERROR(Checkpoint::open(model), "", "is a named pipe");
  EXPECT_FILE_ERROR(Checkpoint::open(model / "pipe.safetensors"), "", "is a named pipe");
  fs::remove(model / "pipe.safetensors");
  fs::create_directory(model / "pipe.safetensors");
  EXPECT_FILE_ERROR(Checkpoint::open(model), "", "is a folder");
}

TEST(Shards, TheHubsCacheLinksIntoItsBlobs) {
  const TemporaryFolder folder;
  const fs::path repository = folder / "models--org--name", snapshot = repository / "snapshots" / "0123";
  fs::create_directories(snapshot);
  folder.write("models--org--name/blobs/abc", one_tensor("a"));
  fs::create_symlink("../../blobs/abc", snapshot / "model.safetensors");
  EXPECT_NO_THROW(Checkpoint::open(snapshot));
  // Into the blobs of another model, or elsewhere in the same: no.
  folder.write("models--org--other/blobs/abc", one_tensor("a"));
  fs::remove(snapshot / "model.safetensors");
  fs::create_symlink("../../../models--org--other/blobs/abc", snapshot / "model.safetensors");
  EXPECT_FILE_ERROR(Checkpoint::open(snapshot), "", "leaves the model's folder");
  folder.write("models--org--name/blobsfake/abc", one_tensor("a"));
  fs::remove(snapshot / "model.safetensors");
  fs::create_symlink("../../blobsfake/abc", snapshot / "model.safetensors");
  EXPECT_FILE_ERROR(Checkpoint::open(snapshot), "", "leaves the model's folder");
}

}  // namespace
}  // namespace attend
