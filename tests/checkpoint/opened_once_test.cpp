// What was checked is what is read: a model's files are exchanged between the moment they are found and the
// moment they are read.
#include <attend/checkpoint.h>
#include <attend/model_files.h>
#include <attend/tokenizer.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "checkpoint/safetensors_bytes.h"
#include "io/open_file.h"
#include "support/file_error.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWords = "[UNK]\n[CLS]\n[SEP]\nhello\nHello\n";
constexpr std::string_view kOtherWords = "[SEP]\n[CLS]\n[UNK]\nHello\nhello\n";

// A model of which every file is replaced by a link to one elsewhere.
class OpenedOnce : public testing::TestWithParam<bool> {
 protected:
  OpenedOnce() {
    write("config.json", R"({"model":1})", R"({"model":2})");
    write("vocab.txt", kWords, kOtherWords);
    write("tokenizer_config.json", R"({"do_lower_case":false})", R"({"do_lower_case":true})");
    write("model.safetensors", one_tensor("inside"), one_tensor("outside"));
  }
  void write(const std::string& name, std::string_view inside, std::string_view outside) {
    folder_.write(name, std::string(inside));
    elsewhere_.write(name, std::string(outside));
  }
  void exchange() const {
    for (const auto& entry : fs::directory_iterator(elsewhere_.path())) {
      const fs::path name = entry.path().filename();
      fs::remove(folder_ / name);
      if (GetParam()) {
        fs::create_symlink(entry.path(), folder_ / name);
      } else {
        fs::rename(entry.path(), folder_ / name);
      }
    }
  }
  TemporaryFolder folder_, elsewhere_;
};

TEST_P(OpenedOnce, WhatWasFoundIsWhatIsRead) {
  const ModelFiles files = find_model(folder_.path().string());
  exchange();
  const Tokenizer tokenizer = Tokenizer::load(files);
  EXPECT_EQ(tokenizer.encode("Hello").ids, (std::vector<std::int32_t>{1, 4, 2}));
  EXPECT_EQ(Checkpoint::open(files.weights).names(), std::vector<std::string>{"inside"});
  EXPECT_EQ(Checkpoint::open(files.weights).names(), std::vector<std::string>{"inside"}) << "a second time";
  const io::FileText config = io::read_text(*files.config.opened(), 100);
  EXPECT_EQ(std::string_view(config.memory.get(), config.size), R"({"model":1})");

  // By their paths they are those that lie there now.
  EXPECT_EQ(Tokenizer::load(files.tokenizer.path()).encode("Hello").ids,
            (std::vector<std::int32_t>{1, 4, 0}));
  if (GetParam()) {
    EXPECT_FILE_ERROR(find_model(folder_.path().string()), "", "is a link that leaves the model's folder");
  }
}

INSTANTIATE_TEST_SUITE_P(Model, OpenedOnce, testing::Bool(),
                         [](const auto& how) { return how.param ? "ByALink" : "ByAnotherFile"; });

}  // namespace
}  // namespace attend
