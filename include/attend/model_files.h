// Where the files of a model are, and what its folder says about using it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <attend/file_error.h>
#include <attend/pooling_kind.h>

namespace attend {

namespace io {
class InputFile;
}

// A file of a model, opened when it was found: what was checked then is what is read later, whatever its
// path leads to by that time. Copies share what is open.
class ModelFile {
 public:
  ModelFile() = default;  // there is none
  ModelFile(std::filesystem::path path, std::shared_ptr<const io::InputFile> opened)
      : path_(std::move(path)), opened_(std::move(opened)) {}

  bool empty() const noexcept { return opened_ == nullptr; }
  const std::filesystem::path& path() const noexcept { return path_; }
  std::string string() const { return path_.string(); }
  std::filesystem::path filename() const { return path_.filename(); }
  const std::shared_ptr<const io::InputFile>& opened() const noexcept { return opened_; }  // of src/io

 private:
  std::filesystem::path path_;
  std::shared_ptr<const io::InputFile> opened_;
};

// A layer after pooling: y = activation(x W^T + b), with the weights in its own folder.
struct DenseModule {
  ModelFile weights;  // "linear.weight" (outputs, inputs) and, with a bias, "linear.bias"
  std::int64_t inputs = 0, outputs = 0;
  bool bias = true;
  std::string activation;  // "tanh" or "identity"
};

struct ModelFiles {
  std::string name;              // as it was asked for
  std::filesystem::path root;    // the folder that was found: modules.json is here, where there is one
  std::filesystem::path folder;  // the same, or one inside it; holds the four below
  ModelFile config;              // config.json
  ModelFile weights;             // model.safetensors or model.safetensors.index.json, for Checkpoint::open
  ModelFile tokenizer;           // tokenizer.json, else vocab.txt, else empty
  ModelFile tokenizer_config;    // tokenizer_config.json, or empty
  ModelFile generation_config;   // generation_config.json, or empty
  ModelFile chat_template;       // chat_template.jinja, or empty

  // Those of sentence-transformers that were read: modules.json, 1_Pooling/config.json, and so on; as they
  // are called inside root.
  std::vector<std::string> module_files{};

  // What follows comes from a sentence-transformers folder; a plain one leaves it as it is here.
  bool is_sentence_model = false;
  std::vector<Pooling> pooling;  // several are concatenated, in this order
  bool pooling_includes_prompt = true;
  std::vector<DenseModule> dense;              // after pooling, in this order
  bool normalize = false;                      // after that
  bool lower_case = false;                     // of the text, before it is tokenized
  std::map<std::string, std::string> prompts;  // text to put in front, by its name
  std::string default_prompt;                  // a name among them, or empty
  std::string activation;  // of a cross-encoder's scores: the path of a class of Python, or empty

  // The most tokens a text may have, where the folder says; the positions of config.json may allow fewer.
  std::optional<std::int64_t> max_tokens;
  std::string max_tokens_file;  // the one that says so: "sentence_bert_config.json"; or empty
};

// Finds a folder, a GGUF file (which is config, weights and tokenizer in one, and may lie in a folder of its
// own), or a model by its name on the hub: "ORG/NAME", "NAME" (also of sentence-transformers), either with
// "@REVISION", in the hub's cache, else (without a revision) in models_folder(); "smollm2" is
// HuggingFaceTB/SmolLM2-135M-Instruct. Nothing is downloaded. Throws FileError, which names the places
// that were looked at or what is wrong there.
ModelFiles find_model(std::string_view name_or_folder);

// The hub's cache: HF_HUB_CACHE, else HF_HOME/hub, else XDG_CACHE_HOME/huggingface/hub, else
// ~/.cache/huggingface/hub.
std::filesystem::path hub_cache_folder();

// attend's own folder for models that do not come from the hub's cache, as ORG/NAME: ATTEND_MODELS, else
// XDG_CACHE_HOME/attend/models, else ~/.cache/attend/models.
std::filesystem::path models_folder();

// The models that commands and functions use when none is given: for reading, and for writing.
inline constexpr std::string_view kDefaultModel = "sentence-transformers/all-MiniLM-L6-v2";
inline constexpr std::string_view kDefaultWriter = "smollm2";

}  // namespace attend
