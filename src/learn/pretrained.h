// A pretrained encoder as a starting point: its parameters go into a model that learns, and from there into a
// folder like the one they came from.
#pragma once

#include <attend/model_files.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "train/model.h"
#include "train/stored_parameters.h"

namespace attend::learn {

class Pretrained {
 public:
  // A folder, or the name of a model in the hub's cache. Reads all that save() carries over, so that the
  // folder may change while a model learns. Throws FileError, also where the weights are not of the sizes
  // that the configuration names.
  explicit Pretrained(const std::string& name_or_folder);

  const ModelFiles& files() const noexcept { return files_; }
  // As the folder has it.
  const ModelDescription& description() const noexcept { return description_; }
  // As it learns: with positions for this many tokens, up to description().max_tokens().
  ModelDescription description_for(std::int64_t length) const;

  // The model's parameters become those of the file.
  void fill(train::Model& model) const;

  // The folder as it was, with these parameters in place of its own, as f32: every other tensor of its file,
  // its configuration, its tokenizer and how it makes a vector of a text are carried over. Each file is
  // written atomically.
  void save(const std::filesystem::path& folder, train::Model& model) const;
  std::vector<std::filesystem::path> saved_files() const;

  // A number that changes with the weights, the configuration and the tokenizer.
  std::uint64_t fingerprint() const;

 private:
  struct CarriedFile {
    std::filesystem::path name;  // inside the folder
    std::string bytes;
  };
  void link_and_compare();
  ConstTensorView table(const train::ParameterLink& link) const;  // of which the parameter is some rows
  void carry_file(const std::filesystem::path& name);
  void carry_files();

  ModelFiles files_;
  ModelDescription description_;
  Checkpoint checkpoint_;
  std::vector<train::ParameterLink> links_;
  std::filesystem::path inside_;  // of the root: where config.json and the weights are; mostly empty
  std::vector<CarriedFile> carried_files_;
  std::vector<std::pair<std::string, Tensor>> carried_tensors_;  // those that no parameter holds completely
};

}  // namespace attend::learn
