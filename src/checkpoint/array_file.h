// Arrays by name from a file that somebody else made: .npy, .npz or .safetensors.
#pragma once

#include <attend/checkpoint.h>
#include <attend/tensor.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/zip.h"
#include "io/open_file.h"

namespace attend::checkpoint {

// By the extension of its name. What names the arrays is checked when it is opened, an array when it is read.
// Throws FileError.
class ArrayFile {
 public:
  explicit ArrayFile(const std::filesystem::path& path);

  const std::string& name() const noexcept { return name_; }
  std::vector<std::string> arrays() const;  // a .npy has one, ""
  bool contains(std::string_view array) const;
  Tensor read(std::string_view array) const;  // row-major; i4 of NumPy's formats as i64

 private:
  const ZipMember* find(std::string_view array) const;

  std::string name_;
  std::optional<io::InputFile> file_;
  std::optional<Checkpoint> checkpoint_;
  std::optional<std::vector<ZipMember>> members_;
};

}  // namespace attend::checkpoint
