#include "save/write_tensor.h"

#include <algorithm>

#include "base/error.h"

namespace attend::save {
namespace {

constexpr std::int64_t kPieceBytes = 4 << 20;

void write_row_major(ArrayFormat& format, ConstTensorView tensor) {
  const auto bytes = static_cast<std::size_t>(tensor.count()) * size_of(tensor.dtype());
  format.data({static_cast<const char*>(tensor.host_data()), bytes});
}

}  // namespace

void write_elements(ArrayFormat& format, ConstTensorView tensor) {
  if (tensor.count() == 0) return;
  if (tensor.rank() == 0 || tensor.strides() == row_major_strides(tensor.shape()))
    return write_row_major(format, tensor);
  // Some rows at a time, so that a large transposed tensor is not copied whole.
  const std::int64_t row_bytes =
      tensor.count() / tensor.size(0) * static_cast<std::int64_t>(size_of(tensor.dtype()));
  const std::int64_t rows = std::max<std::int64_t>(1, kPieceBytes / row_bytes);
  for (std::int64_t first = 0; first < tensor.size(0); first += rows) {
    const Tensor piece = copy_of(tensor.slice(0, first, std::min(first + rows, tensor.size(0))));
    write_row_major(format, piece.view());
  }
}

void write_tensor(ArrayFormat& format, const NamedTensor& named) {
  if (!named.tensor.given()) refuse("save", "\"", named.name, "\" is not given");
  format.begin(named.name, named.tensor.dtype(), named.tensor.shape());
  write_elements(format, named.tensor);
  format.end(named.tensor.shape());
}

}  // namespace attend::save
