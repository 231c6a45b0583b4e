#include "cuda/hopper/bias_rows.h"

#include "cuda/memory.h"

namespace attend::cuda {
namespace {

bool is_readable(const PlacedBroadcast& bias, std::int64_t columns) {
  if (bias.number != Number::f32 && bias.number != Number::bf16 && bias.number != Number::f16) return false;
  if (bias.element == 0) return true;
  return bias.element == 1 && columns % 2 == 0 && bias.row % 2 == 0 && bias.head % 2 == 0 &&
         bias.sequence % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(bias.data) %
                 (2 * static_cast<std::uintptr_t>(size_of(bias.number))) ==
             0;
}

}  // namespace

ReadableBias::ReadableBias(plugin::Place place, const plugin::View& bias) {
  if (bias.data == nullptr) return;
  PlacedBroadcast placed = broadcast(bias);
  std::int64_t columns = bias.shape[bias.rank - 1];
  if (!is_readable(placed, columns)) {
    // Axes that are broadcast have one index in the copy, too; rows take an even number of columns.
    plugin::View from = bias, to = bias;
    to.number = Number::f32;
    const std::int64_t strides[4] = {placed.sequence, placed.head, placed.row, placed.element};
    std::int64_t step = 1;
    for (int axis = bias.rank - 1; axis >= 0; --axis) {
      if (strides[4 - bias.rank + axis] == 0) from.shape[axis] = to.shape[axis] = 1;
      to.strides[axis] = step;
      step *= axis == bias.rank - 1 ? (to.shape[axis] + 1) / 2 * 2 : to.shape[axis];
    }
    copy_ = Scratch(place, static_cast<std::size_t>(step) * sizeof(float));
    to.data = copy_.data();
    copy(place, from, to);
    placed = broadcast(to);
    columns = (to.shape[to.rank - 1] + 1) / 2 * 2;
  }
  const int bytes = size_of(placed.number);
  rows_ = {
      placed.data,         placed.number,      placed.sequence * bytes,
      placed.head * bytes, placed.row * bytes, placed.element == 0 ? 0 : static_cast<std::int32_t>(columns)};
}

}  // namespace attend::cuda
