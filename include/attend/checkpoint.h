// The weights of a model, from safetensors files that stay where they are: views into mapped memory, no
// copies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <attend/file_error.h>
#include <attend/tensor.h>

namespace attend {

class ModelFile;

// What a file says about one tensor.
struct TensorInfo {
  std::string type;                 // as safetensors calls it: "F32", "I8"
  std::vector<std::int64_t> shape;  // at most 8 sizes
  std::int64_t bytes = 0;
  std::string file;  // the one that holds it
};

// One safetensors file, or several with an index. Everything is checked when it is opened; throws FileError.
// Copies share what is open. Any thread may call any function.
class Checkpoint {
 public:
  // A .safetensors file; a .safetensors.index.json, whose files lie beside it; or a folder with
  // model.safetensors or model.safetensors.index.json.
  static Checkpoint open(const std::filesystem::path& path);
  // The weights of a model that was found, or of one of its layers, as they were opened then.
  static Checkpoint open(const ModelFile& file);

  std::vector<std::string> names() const;  // in alphabetical order
  bool contains(std::string_view name) const;
  TensorInfo info(std::string_view name) const;
  std::map<std::string, std::string> metadata() const;  // of all files; the first file that has a key decides

  // Valid as long as this checkpoint or a copy of it lives. f32, f64, f16, bf16, i64 and bool have views, of
  // up to four dimensions; others are refused by name. A tensor that is not aligned for its type is copied,
  // once.
  ConstTensorView tensor(std::string_view name) const;

  // The same, refused unless it has this shape: what config.json promises need not be what the file holds.
  ConstTensorView tensor(std::string_view name, const Dims& shape) const;

  // Throws FileError when a file has been cut short or changed since it was opened. Lost memory reads as
  // zeros, so what was computed from views can be trusted only after this has returned.
  void require_intact() const;

  // Gives the memory of a tensor back to the system after its one use, such as packing. Its views stay valid.
  void forget(std::string_view name) const;

 private:
  struct Contents;
  explicit Checkpoint(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}
  std::shared_ptr<const Contents> contents_;
};

}  // namespace attend
