// The weights of a model, from safetensors and GGUF files that stay where they are: views into mapped memory,
// no copies of what need not be decoded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <attend/blocks.h>
#include <attend/file_error.h>
#include <attend/tensor.h>

namespace attend {

class ModelFile;

// What a file says about one tensor.
struct TensorInfo {
  std::string type;                 // as the format calls it: "F32", "I8", "Q4_K"
  std::vector<std::int64_t> shape;  // at most 8 sizes
  std::int64_t bytes = 0;
  std::string file;  // the one that holds it
};

// How a tensor's numbers are read: its type here, and its shape.
struct TensorForm {
  DType dtype = DType::f32;
  Dims shape{};
};

// One safetensors file, or several with an index; or one GGUF file. Everything is checked when it is opened;
// throws FileError. Copies share what is open. Any thread may call any function.
class Checkpoint {
 public:
  // A .safetensors file; a .safetensors.index.json, whose files lie beside it; a GGUF file, by whatever name;
  // or a folder with model.safetensors or model.safetensors.index.json.
  static Checkpoint open(const std::filesystem::path& path);
  // The weights of a model that was found, or of one of its layers, as they were opened then.
  static Checkpoint open(const ModelFile& file);

  std::vector<std::string> names() const;  // in alphabetical order
  bool contains(std::string_view name) const;
  TensorInfo info(std::string_view name) const;
  // Of all files; the first file that has a key decides. Of a GGUF file those that are strings.
  std::map<std::string, std::string> metadata() const;

  // That of tensor(name), without reading it; refuses what tensor() refuses.
  TensorForm form(std::string_view name) const;

  // Valid as long as this checkpoint or a copy of it lives. f32, f64, f16, bf16, i64 and bool have views, of
  // up to four dimensions; others are refused by name. A tensor that is not aligned for its type is copied,
  // once. Those of GGUF's types Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 and Q2_K to Q6_K are decoded to f32; such a view
  // ends when the tensor is forgotten.
  ConstTensorView tensor(std::string_view name) const;

  // The same, refused unless it has this shape: what config.json promises need not be what the file holds.
  ConstTensorView tensor(std::string_view name, const Dims& shape) const;

  // A matrix of GGUF's types Q4_0, Q4_1, Q8_0, Q4_K or Q6_K as it is stored, of two dimensions; none where
  // the tensor is something else. Valid as long as this checkpoint or a copy of it lives.
  std::optional<StoredBlocks> blocks(std::string_view name) const;

  // Throws FileError when a file has been cut short or changed since it was opened. Lost memory reads as
  // zeros, so what was computed from views can be trusted only after this has returned.
  void require_intact() const;

  // Gives the memory of a tensor back to the system after its one use, such as packing. Its views stay valid,
  // but for those of decoded tensors.
  void forget(std::string_view name) const;

  struct Contents;  // of src/checkpoint

 private:
  friend class Gguf;
  explicit Checkpoint(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}
  std::shared_ptr<const Contents> contents_;
};

}  // namespace attend
