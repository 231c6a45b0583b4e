// Files of tensors, written atomically: under the final name there is either what was there before
// or the complete new file, whenever the program ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <attend/file_error.h>
#include <attend/tensor.h>

namespace attend {

struct NamedTensor {
  std::string name;
  ConstTensorView tensor;  // any strides; written in row-major order
};

// Throw FileError when the disk or the folder refuses, std::invalid_argument for a type that the format does
// not have (bf16 in NumPy's), a name that occurs twice, or a tensor that is not given.
void save_npy(const std::filesystem::path& file, ConstTensorView tensor);
void save_npz(const std::filesystem::path& file, std::span<const NamedTensor> tensors);
void save_safetensors(const std::filesystem::path& file, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata = {});

// An array whose number of rows is known only at the end; memory does not grow with it. The file's extension
// chooses its format: .npy, .npz or .safetensors.
class RowsWriter {
 public:
  // The array's name (which .npy does not keep), its type, and the shape of one row, with up to three
  // dimensions.
  RowsWriter(const std::filesystem::path& file, const std::string& name, DType dtype, const Dims& row_shape);
  RowsWriter(RowsWriter&& other) noexcept;
  RowsWriter& operator=(RowsWriter&& other) noexcept;
  ~RowsWriter();  // without finish() no file remains

  // rows: (n, row_shape...), of this type.
  void append(ConstTensorView rows);
  std::int64_t rows() const noexcept;

  // One more array after the last row, such as where each text begins. Not for .npy.
  void add(const std::string& name, ConstTensorView tensor);

  // Puts the file in its place. Nothing can follow.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attend
