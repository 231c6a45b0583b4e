// Texts read by the golden checkpoints of every family, with a small vocabulary.
#pragma once

#include <attend/lens.h>

#include <filesystem>
#include <string>

#include "support/temporary_folder.h"

namespace attend {

inline constexpr const char* kFamilies[] = {"bert", "roberta", "xlm-roberta", "distilbert", "mpnet", "gpt2"};

// A folder with a golden checkpoint and a vocabulary of words: [CLS] and [SEP] around every text.
class GoldenModel {
 public:
  explicit GoldenModel(const std::string& family) {
    const std::filesystem::path golden = std::filesystem::path(ATTEND_GOLDEN_MODELS) / family;
    for (const char* const name : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(golden / name, folder_.path() / name);
    std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nbank\n##s\nof\nriver\nmoney\nis\n,\n.\n";
    folder_.write("vocab.txt", words);
  }
  TextModel load() const { return TextModel::load(folder_.path().string()); }
  std::filesystem::path weights() const { return folder_.path() / "model.safetensors"; }

 private:
  TemporaryFolder folder_;
};

}  // namespace attend
