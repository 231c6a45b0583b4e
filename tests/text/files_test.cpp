// Files and folders that a tokenizer is loaded from.
#include <attend/file_error.h>
#include <attend/tokenizer.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "text/small_tokenizer.h"

namespace {

namespace fs = std::filesystem;
using attend::FileError;
using attend::Tokenizer;

class TokenizerFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) /
              (std::string("attend_text_") + test->name() + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path write(const char* name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  void refuses(const fs::path& path, const std::string& rule) const {
    try {
      Tokenizer::load(path);
      ADD_FAILURE() << path << " was read";
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find(rule), std::string::npos) << error.what();
    }
  }
  fs::path folder_;
};

constexpr std::string_view kVocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\nHello\nwor\n##ld\n!\n";

TEST_F(TokenizerFiles, FolderWithJsonIsPreferred) {
  write("tokenizer.json", attend::test::kSmallWordPiece);
  write("vocab.txt", kVocab);
  EXPECT_EQ(Tokenizer::load(folder_).encode("abbc").ids, (std::vector<std::int32_t>{1, 4, 5}));
}

TEST_F(TokenizerFiles, VocabularyIsBerts) {
  write("vocab.txt", kVocab);
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.encode("Hello wörld!").ids, (std::vector<std::int32_t>{2, 4, 6, 7, 8, 3}));
  EXPECT_EQ(tokenizer.encode("hello", "x").type_ids, (std::vector<std::int32_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("Hello world!").ids), "hello world!");
  EXPECT_EQ(tokenizer.max_length(), std::nullopt);
}

TEST_F(TokenizerFiles, ConfigBesideTheVocabularyCounts) {
  const fs::path vocab = write("vocab.txt", kVocab);
  write("tokenizer_config.json",
        R"({"do_lower_case": false, "tokenizer_class": "BertTokenizer", "other": [1]})");
  EXPECT_EQ(Tokenizer::load(vocab).encode("Hello world").ids, (std::vector<std::int32_t>{2, 5, 6, 7, 3}));
  write("tokenizer_config.json", R"({"tokenizer_class": "MPNetTokenizer"})");
  refuses(vocab, "tokenizer_class: \"MPNetTokenizer\" needs a tokenizer.json");
}

TEST_F(TokenizerFiles, WhatCannotBeReadIsNamed) {
  refuses(folder_, "has neither a tokenizer.json nor a vocab.txt");
  refuses(folder_ / "nothing.json", "nothing.json: cannot be read: No such file or directory");
  const fs::path pipe = folder_ / "tokenizer.json";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  refuses(folder_, "is a named pipe, expected a file");
  fs::remove(pipe);
  const fs::path large = write("large.json", "x");
  fs::resize_file(large, 300 << 20);  // a hole: no disk is used
  refuses(large, "has 314572800 bytes, expected at most 268435456");
}

TEST_F(TokenizerFiles, BadVocabulariesAreRefused) {
  refuses(write("vocab.txt", "[UNK]\n[CLS]\n"), "has no [SEP]");
  refuses(write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\na\n"), "line 5: \"a\" occurs twice");
  refuses(write("vocab.txt", "[UNK]\n\xFF\n"), "is not UTF-8");
}

}  // namespace
