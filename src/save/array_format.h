// A format for files of arrays, written front to back.
#pragma once

#include <attend/tensor.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "save/output_file.h"

namespace attend::save {

// begin, data..., end for each array; then finish. The number of rows, the first size of the shape, is known
// at the end.
class ArrayFormat {
 public:
  virtual ~ArrayFormat() = default;
  virtual void begin(const std::string& name, DType dtype, const Dims& shape) = 0;
  virtual void data(std::string_view bytes) = 0;
  virtual void end(const Dims& shape) = 0;
  virtual void finish() = 0;
};

std::unique_ptr<ArrayFormat> npy_format(OutputFile& file);
std::unique_ptr<ArrayFormat> npz_format(ByteOutput& output);

// The header stands in front and is written last, so its size is chosen first.
std::unique_ptr<ArrayFormat> safetensors_format(OutputFile& file, std::size_t header_bytes,
                                                std::map<std::string, std::string> metadata);

}  // namespace attend::save
