#include <attend/model_files.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <string>

#include "checkpoint/safetensors_bytes.h"
#include "support/file_error.h"
#include "support/gguf_bytes.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

// The files of a plain model.
void write_plain(const TemporaryFolder& folder, const fs::path& inside = "") {
  folder.write(inside / "config.json", "{}");
  folder.write(inside / "model.safetensors", safetensors_bytes("{}", 0));
  folder.write(inside / "tokenizer.json", "{}");
}

std::string module(const std::string& path, const std::string& type) {
  return R"({"idx":0,"name":"0","path":")" + path + R"(","type":"sentence_transformers.models.)" + type +
         "\"}";
}

void write_sentence_model(const TemporaryFolder& folder) {
  write_plain(folder);
  folder.write("modules.json", "[" + module("", "Transformer") + "," + module("1_Pooling", "Pooling") + "," +
                                   module("2_Normalize", "Normalize") + "]");
  folder.write("1_Pooling/config.json", R"({"word_embedding_dimension":24,"pooling_mode_mean_tokens":true})");
}

// Environment variables as the test wants them, and as they were afterwards.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const old = ::getenv(name)) before_ = old;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) { value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, 1); }
  const char* name_;
  std::optional<std::string> before_;
};

TEST(ModelFiles, PlainFolder) {
  const TemporaryFolder folder;
  write_plain(folder);
  const ModelFiles files = find_model(folder.path().string());
  EXPECT_EQ(files.config.path(), folder / "config.json");
  EXPECT_EQ(files.weights.path(), folder / "model.safetensors");
  EXPECT_EQ(files.tokenizer.path(), folder / "tokenizer.json");
  EXPECT_FALSE(files.is_sentence_model);
  EXPECT_TRUE(files.pooling.empty());
  EXPECT_FALSE(files.normalize);
  EXPECT_EQ(files.max_tokens, std::nullopt);
}

TEST(ModelFiles, FallsBackToVocabularyAndIndex) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("vocab.txt", "[PAD]\n");
  folder.write("model.safetensors.index.json", "{}");
  folder.write("tokenizer_config.json", R"({"model_max_length":512})");
  const ModelFiles files = find_model(folder.path().string());
  EXPECT_EQ(files.tokenizer.path(), folder / "vocab.txt");
  EXPECT_EQ(files.weights.path(), folder / "model.safetensors.index.json");
  EXPECT_EQ(files.max_tokens, 512);
  EXPECT_EQ(files.max_tokens_file, "tokenizer_config.json");
}

TEST(ModelFiles, NoLimitIsWrittenAsALargeNumber) {
  const TemporaryFolder folder;
  write_plain(folder);
  folder.write("tokenizer_config.json", R"({"model_max_length":1000000000000000019884624838656})");
  EXPECT_EQ(find_model(folder.path().string()).max_tokens, std::nullopt);
}

TEST(ModelFiles, SentenceModel) {
  const TemporaryFolder folder;
  write_sentence_model(folder);
  folder.write("sentence_bert_config.json", R"({"max_seq_length":256,"do_lower_case":true})");
  folder.write("tokenizer_config.json", R"({"model_max_length":512})");
  folder.write(
      "config_sentence_transformers.json",
      R"({"__version__":{"pytorch":"1"},"prompts":{"query":"query: ","passage":""},"default_prompt_name":"query"})");
  const ModelFiles files = find_model(folder.path().string());
  EXPECT_TRUE(files.is_sentence_model);
  EXPECT_EQ(files.pooling, std::vector<Pooling>{Pooling::mean});
  EXPECT_TRUE(files.normalize) << "2_Normalize has no folder";
  EXPECT_EQ(files.max_tokens, 256);
  EXPECT_EQ(files.max_tokens_file, "sentence_bert_config.json");
  EXPECT_TRUE(files.lower_case);
  EXPECT_EQ(files.prompts, (std::map<std::string, std::string>{{"query", "query: "}, {"passage", ""}}));
  EXPECT_EQ(files.default_prompt, "query");
  EXPECT_TRUE(files.pooling_includes_prompt);
}

TEST(ModelFiles, SeveralPoolingsAreConcatenatedInTheirOrder) {
  const TemporaryFolder folder;
  write_sentence_model(folder);
  const auto pooling = [&](const char* config) {
    folder.write("1_Pooling/config.json", config);
    return find_model(folder.path().string()).pooling;
  };
  EXPECT_EQ(
      pooling(
          R"({"pooling_mode_mean_tokens":true,"pooling_mode_max_tokens":true,"pooling_mode_cls_token":true})"),
      (std::vector<Pooling>{Pooling::cls, Pooling::max, Pooling::mean}));
  EXPECT_EQ(pooling(R"({"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false})"),
            std::vector{Pooling::cls});
  EXPECT_EQ(pooling(R"({"pooling_mode_cls_token":false})"), std::vector{Pooling::mean})
      << "the mean is what is not said";
  EXPECT_EQ(pooling(R"({"pooling_mode":"lasttoken"})"), std::vector{Pooling::last_token});
  EXPECT_EQ(pooling(R"({"pooling_mode":["mean","cls"]})"),
            (std::vector<Pooling>{Pooling::cls, Pooling::mean}));
  EXPECT_FILE_ERROR(pooling(R"({"pooling_mode_mean_tokens":false})"), "", "selects no pooling");
  EXPECT_FILE_ERROR(pooling(R"({"pooling_mode":"median"})"), "pooling_mode", "\"median\" is not a pooling");
  EXPECT_FILE_ERROR(pooling(R"({"pooling_mode":["cls","cls"]})"), "pooling_mode",
                    "lists the same pooling twice");
  EXPECT_FILE_ERROR(pooling(R"({"pooling_mode_cls_token":1})"), "pooling_mode_cls_token",
                    "expected true or false");
}

TEST(ModelFiles, TransformerAndDenseInFoldersOfTheirOwn) {
  const TemporaryFolder folder;
  write_plain(folder, "0_Transformer");
  folder.write("modules.json", "[" + module("0_Transformer", "Transformer") + "," +
                                   module("1_Pooling", "Pooling") + "," + module("2_Dense", "Dense") + "]");
  folder.write("1_Pooling/config.json", "{}");
  folder.write(
      "2_Dense/config.json",
      R"({"in_features":24,"out_features":8,"bias":true,"activation_function":"torch.nn.modules.activation.Tanh"})");
  folder.write("2_Dense/model.safetensors", safetensors_bytes("{}", 0));
  const ModelFiles files = find_model(folder.path().string());
  EXPECT_EQ(files.config.path(), folder / "0_Transformer/config.json");
  ASSERT_EQ(files.dense.size(), 1u);
  EXPECT_EQ(files.dense[0].weights.path(), folder / "2_Dense/model.safetensors");
  EXPECT_EQ(files.dense[0].inputs, 24);
  EXPECT_EQ(files.dense[0].outputs, 8);
  EXPECT_EQ(files.dense[0].activation, "tanh");
  folder.write("2_Dense/config.json",
               R"({"in_features":24,"out_features":8,"activation_function":"os.system"})");
  EXPECT_FILE_ERROR(find_model(folder.path().string()), "activation_function",
                    "\"os.system\" is not Tanh or Identity");
}

TEST(ModelFiles, ACrossEncoderIsATransformerAlone) {
  const TemporaryFolder folder;
  write_sentence_model(folder);
  folder.write("modules.json", "[" + module("", "Transformer") + "]");
  folder.write("config_sentence_transformers.json",
               R"({"activation_fn": "torch.nn.modules.linear.Identity", "prompts": {}})");
  const ModelFiles files = find_model(folder.path().string());
  EXPECT_FALSE(files.is_sentence_model);
  EXPECT_TRUE(files.pooling.empty());
  EXPECT_EQ(files.activation, "torch.nn.modules.linear.Identity");
}

TEST(ModelFiles, BadModulesAreRefused) {
  const TemporaryFolder folder;
  write_sentence_model(folder);
  const auto refuses = [&](const std::string& modules, const std::string& where, const std::string& rule) {
    folder.write("modules.json", modules);
    EXPECT_FILE_ERROR(find_model(folder.path().string()), where, rule) << modules;
  };
  const std::string transformer = module("", "Transformer"), pooling = module("1_Pooling", "Pooling");
  refuses("{}", "", "expected an array, found an object");
  refuses("[]", "", "expected one Transformer, one Pooling");
  refuses("[" + pooling + "," + transformer + "]", "", "in this order");
  refuses("[" + transformer + "," + pooling + "," + pooling + "]", "",
          "expected one Transformer, one Pooling");
  refuses("[" + transformer + "," + module("1_WordWeights", "WordWeights") + "]", "type",
          "WordWeights\" is not a module");
  refuses(R"([{"path":"","type":"os.Transformer"}])", "type", "\"os.Transformer\" is not a module");
  refuses(R"([{"path":""}])", "type", "is missing");
  refuses("[" + transformer + "," + module("../1_Pooling", "Pooling") + "]", "path",
          "is not the name of a folder");
  refuses("[" + transformer + "," + module("/etc", "Pooling") + "]", "path", "is not the name of a folder");
  refuses("[" + transformer + "," + module("..", "Pooling") + "]", "path", "is not the name of a folder");
  refuses("[" + transformer + "," + module("3_Pooling", "Pooling") + "]", "", "No such file");
}

TEST(ModelFiles, BadSentenceFilesAreRefused) {
  const TemporaryFolder folder;
  write_sentence_model(folder);
  folder.write("sentence_bert_config.json", R"({"max_seq_length":-1})");
  EXPECT_FILE_ERROR(find_model(folder.path().string()), "max_seq_length", "-1 is not between");
  folder.write("sentence_bert_config.json", R"({"max_seq_length":null})");
  folder.write("config_sentence_transformers.json", R"({"prompts":{"query":1}})");
  EXPECT_FILE_ERROR(find_model(folder.path().string()), "query", "expected a string");
  folder.write("config_sentence_transformers.json", R"({"prompts":{},"default_prompt_name":"query"})");
  EXPECT_FILE_ERROR(find_model(folder.path().string()), "default_prompt_name",
                    "\"query\" is not among the prompts");
}

TEST(ModelFiles, FoldersMustNotBeLinksOut) {
  const TemporaryFolder folder;
  write_plain(folder, "elsewhere");
  folder.write("model/modules.json",
               "[" + module("0_Transformer", "Transformer") + "," + module("1_Pooling", "Pooling") + "]");
  folder.write("model/1_Pooling/config.json", "{}");
  fs::create_directory_symlink(folder / "elsewhere", folder / "model/0_Transformer");
  EXPECT_FILE_ERROR(find_model((folder / "model").string()), "", "is a link that leaves the model's folder");
  folder.write("secret", "{}");
  write_plain(folder, "other");
  fs::remove(folder / "other/config.json");
  fs::create_symlink("../secret", folder / "other/config.json");
  EXPECT_FILE_ERROR(find_model((folder / "other").string()), "", "is a link that leaves the model's folder");
}

TEST(ModelFiles, SaysWhatAFolderLacks) {
  const TemporaryFolder folder;
  EXPECT_FILE_ERROR(find_model(folder.path().string()), "",
                    "is not a model folder: it has no config.json and no GGUF file");
  folder.write("config.json", "{}");
  EXPECT_FILE_ERROR(find_model(folder.path().string()), "", "has neither model.safetensors nor");
  EXPECT_FILE_ERROR(find_model((folder / "config.json").string()), "", "name the folder that it is in");
  folder.write("pytorch_model.bin", "");
  EXPECT_FILE_ERROR(find_model(folder.path().string()), "",
                    "has its weights in pytorch_model.bin, a PyTorch file");
}

TEST(ModelFiles, FindsModelsInTheHubsCache) {
  const TemporaryFolder folder;
  const Variable cache("HF_HUB_CACHE", folder.path().c_str());
  write_plain(folder, "models--org--name/snapshots/0123abc");
  folder.write("models--org--name/refs/main", "0123abc\n");
  write_plain(folder, "models--sentence-transformers--tiny/snapshots/99");
  folder.write("models--sentence-transformers--tiny/refs/main", "99");
  EXPECT_EQ(find_model("org/name").folder, folder / "models--org--name/snapshots/0123abc");
  EXPECT_EQ(find_model("org/name").name, "org/name");
  EXPECT_EQ(find_model("org/name@main").folder, folder / "models--org--name/snapshots/0123abc");
  EXPECT_EQ(find_model("org/name@0123abc").folder, folder / "models--org--name/snapshots/0123abc");
  EXPECT_EQ(find_model("tiny").folder, folder / "models--sentence-transformers--tiny/snapshots/99");
  EXPECT_FILE_ERROR(find_model("org/name@v2"), "",
                    "no model of this name at revision v2 in " + folder.path().string());
  EXPECT_FILE_ERROR(find_model("org/missing"), "", "`attend pull org/missing` downloads it");
  folder.write("models--org--name/refs/main", "../../../etc");
  EXPECT_FILE_ERROR(find_model("org/name"), "", "does not hold the name of a commit");
}

TEST(ModelFiles, DefaultModelsHaveShortNames) {
  const TemporaryFolder folder;
  const Variable cache("HF_HUB_CACHE", folder.path().c_str());
  const Variable own("ATTEND_MODELS", folder.path().c_str());
  EXPECT_FILE_ERROR(find_model("smollm2"), "", "`attend pull smollm2` downloads it");
  write_plain(folder, "HuggingFaceTB/SmolLM2-135M-Instruct");
  EXPECT_EQ(find_model("smollm2").folder, folder / "HuggingFaceTB/SmolLM2-135M-Instruct");
  EXPECT_EQ(find_model("HuggingFaceTB/SmolLM2-135M-Instruct").folder, find_model("smollm2").folder);
  write_plain(folder, "sentence-transformers/all-MiniLM-L6-v2");
  EXPECT_EQ(find_model("all-MiniLM-L6-v2").folder, find_model(kDefaultModel).folder);
}

TEST(ModelFiles, AFolderMayHoldOneGgufFileInstead) {
  const TemporaryFolder folder;
  const std::string file = GgufBytes().string("general.architecture", "llama").bytes();
  folder.write("one/model.gguf", file);
  EXPECT_EQ(find_model((folder / "one").string()).weights.path(), folder / "one/model.gguf");
  folder.write("one/other.gguf", file);
  EXPECT_FILE_ERROR(find_model((folder / "one").string()), "",
                    "has several GGUF files, model.gguf and other.gguf");
  write_plain(folder, "one");  // a config.json says what to read
  EXPECT_EQ(find_model((folder / "one").string()).weights.path(), folder / "one/model.safetensors");
  folder.write("two/model.gguf", "not one");
  EXPECT_FILE_ERROR(find_model((folder / "two").string()), "", "is neither a model folder nor a GGUF file");
  folder.write("outside.gguf", file);
  folder.write("three/readme", "");
  fs::create_symlink("../outside.gguf", folder / "three/model.gguf");
  EXPECT_FILE_ERROR(find_model((folder / "three").string()), "", "is a link that leaves the model's folder");
}

TEST(ModelFiles, FormsThatAreNotReadAreNamedWithAWayOn) {
  const TemporaryFolder folder;
  const std::string way = "attend reads safetensors and GGUF: download the model with `attend pull ORG/NAME`";
  folder.write("alone/onnx/model.onnx", "");
  EXPECT_FILE_ERROR(find_model((folder / "alone").string()), "",
                    "has its weights in onnx/model.onnx, an ONNX file; " + way);
  folder.write("with_config/config.json", "{}");
  folder.write("with_config/model.onnx", "");
  EXPECT_FILE_ERROR(find_model((folder / "with_config").string()), "",
                    "has its weights in model.onnx, an ONNX file; " + way);
  EXPECT_FILE_ERROR(find_model((folder / "with_config/model.onnx").string()), "", "is an ONNX file; " + way);
  folder.write("one/model.safetensors", "");
  EXPECT_FILE_ERROR(find_model((folder / "one/model.safetensors").string()), "",
                    "holds weights alone: name the folder that also has config.json and the tokenizer");
  for (const char* const name : {"nowhere.gguf", "nowhere.onnx"})
    EXPECT_FILE_ERROR(find_model(name), "", "there is no such file") << name;
  EXPECT_FILE_ERROR(find_model("no-such/model"), "", "`attend pull no-such/model` downloads it");
}

TEST(ModelFiles, TheFilesOfSentenceTransformersAreListed) {
  const TemporaryFolder folder;
  write_sentence_model(folder);
  const std::vector<std::string> read = find_model(folder.path().string()).module_files;
  EXPECT_EQ(read.front(), "modules.json");
  EXPECT_NE(std::find(read.begin(), read.end(), "1_Pooling/config.json"), read.end());
}

TEST(ModelFiles, BadNamesAreRefused) {
  for (const char* const name :
       {"../x", "a/b/c", "/nowhere", "~/model", "org/", "org/name@", "a b", ".hidden"}) {
    EXPECT_FILE_ERROR(find_model(name), "", "no model on the hub can have this name") << name;
  }
  EXPECT_FILE_ERROR(find_model(""), "", "is not the name of a model");
  EXPECT_FILE_ERROR(find_model(std::string("a\0b", 3)), "", "is not the name of a model");
  const TemporaryFolder folder;
  EXPECT_FILE_ERROR(find_model(folder.write("file", "").string()), "",
                    "is neither a model folder nor a GGUF file");
}

TEST(ModelFiles, TheCacheIsWhereTheHubsVariablesSay) {
  const Variable hub("HF_HUB_CACHE", nullptr), home("HF_HOME", nullptr), xdg("XDG_CACHE_HOME", nullptr);
  const Variable user("HOME", "/home/somebody");
  EXPECT_EQ(hub_cache_folder(), "/home/somebody/.cache/huggingface/hub");
  const Variable caches("XDG_CACHE_HOME", "/caches");
  EXPECT_EQ(hub_cache_folder(), "/caches/huggingface/hub");
  const Variable face("HF_HOME", "/face");
  EXPECT_EQ(hub_cache_folder(), "/face/hub");
  const Variable direct("HF_HUB_CACHE", "/direct");
  EXPECT_EQ(hub_cache_folder(), "/direct");
}

TEST(ModelFiles, AModelFromElsewhereIsFoundInAttendsOwnFolderAfterTheHubsCache) {
  const TemporaryFolder cache, own;
  const Variable hub("HF_HUB_CACHE", cache.path().c_str()), models("ATTEND_MODELS", own.path().c_str());
  const fs::path folder = own.path() / "sentence-transformers" / "name";
  for (const char* const file : {"config.json", "model.safetensors"})
    own.write("sentence-transformers/name/" + std::string(file), "{}");
  EXPECT_EQ(find_model("sentence-transformers/name").folder, folder);
  EXPECT_EQ(find_model("name").folder, folder);
  EXPECT_FILE_ERROR(find_model("name@v2"), "", own.path().string());
  cache.write("models--sentence-transformers--name/refs/main", "abc");
  for (const char* const file : {"config.json", "model.safetensors"})
    cache.write("models--sentence-transformers--name/snapshots/abc/" + std::string(file), "{}");
  EXPECT_EQ(find_model("name").folder,
            cache.path() / "models--sentence-transformers--name" / "snapshots" / "abc");
}

TEST(ModelFiles, AttendsOwnFolderIsACache) {
  const Variable models("ATTEND_MODELS", nullptr), xdg("XDG_CACHE_HOME", nullptr);
  const Variable user("HOME", "/home/somebody");
  EXPECT_EQ(models_folder(), "/home/somebody/.cache/attend/models");
  const Variable caches("XDG_CACHE_HOME", "/caches");
  EXPECT_EQ(models_folder(), "/caches/attend/models");
  const Variable direct("ATTEND_MODELS", "/direct");
  EXPECT_EQ(models_folder(), "/direct");
}

}  // namespace
}  // namespace attend
