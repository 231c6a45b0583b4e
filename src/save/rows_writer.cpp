#include <attend/save.h>

#include <utility>

#include "base/error.h"
#include "save/array_format.h"
#include "save/write_tensor.h"

namespace attend {
namespace {

using namespace save;

// Room for the names of some fifty arrays.
constexpr std::size_t kSafetensorsHeader = 8192 - 8;

std::unique_ptr<ArrayFormat> format_for(const std::filesystem::path& path, OutputFile& file) {
  const std::filesystem::path extension = path.extension();
  if (extension == ".npy") return npy_format(file);
  if (extension == ".npz") return npz_format(file);
  if (extension == ".safetensors") return safetensors_format(file, kSafetensorsHeader, {});
  refuse("save", "\"", path.string(), "\" does not end in .npy, .npz or .safetensors");
}

}  // namespace

struct RowsWriter::State {
  State(const std::filesystem::path& path, DType type, const Dims& row_shape)
      : file(path), format(format_for(path, file)), dtype(type), shape(row_shape.with(0, 0)) {}

  void end_rows() {
    if (!std::exchange(ended, true)) format->end(shape);
  }

  OutputFile file;
  std::unique_ptr<ArrayFormat> format;
  DType dtype;
  Dims shape;  // so far
  bool ended = false, finished = false;
};

RowsWriter::RowsWriter(const std::filesystem::path& file, const std::string& name, DType dtype,
                       const Dims& row_shape)
    : state_(std::make_unique<State>(file, dtype, row_shape)) {
  state_->format->begin(name, dtype, state_->shape);
}

RowsWriter::RowsWriter(RowsWriter&& other) noexcept = default;
RowsWriter& RowsWriter::operator=(RowsWriter&& other) noexcept = default;
RowsWriter::~RowsWriter() = default;

void RowsWriter::append(ConstTensorView rows) {
  if (state_->ended) refuse("save", "rows come before other arrays, and before finish()");
  if (!rows.given() || rows.dtype() != state_->dtype) {
    refuse("save", "rows are ", rows.given() ? name_of(rows.dtype()) : "not given", ", expected ",
           name_of(state_->dtype));
  }
  if (rows.rank() != state_->shape.rank() || rows.shape().without(0) != state_->shape.without(0)) {
    refuse("save", "rows have shape ", to_string(rows.shape()), ", expected rows of shape ",
           to_string(state_->shape.without(0)));
  }
  write_elements(*state_->format, rows);
  state_->shape[0] += rows.size(0);
}

std::int64_t RowsWriter::rows() const noexcept { return state_->shape[0]; }

void RowsWriter::add(const std::string& name, ConstTensorView tensor) {
  if (state_->finished) refuse("save", "the file is finished");
  state_->end_rows();
  write_tensor(*state_->format, {name, tensor});
}

void RowsWriter::finish() {
  if (std::exchange(state_->finished, true)) refuse("save", "the file is finished");
  state_->end_rows();
  state_->format->finish();
  state_->file.commit();
}

}  // namespace attend
