#include "train/packed_weights.h"

#include <algorithm>

namespace attend::train {
namespace {

std::int64_t packed_room(std::int64_t in, std::int64_t out) {
  return PackedMatrix::bytes_needed(in, out, {}, PackedAs::bf16) / static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

std::int64_t PackedWeights::room_for(std::int64_t in, std::int64_t out) {
  return packed_room(in, out) + packed_room(out, in);
}

void PackedWeights::add(const Parameters& parameters, int parameter, bool turned, Arena& arena) {
  const Dims& shape = parameters[parameter].shape;
  const std::int64_t in = shape[turned ? 1 : 0], out = shape[turned ? 0 : 1];
  Matrix& matrix = matrices_.emplace_back();
  matrix.parameter = parameter;
  matrix.turned = turned;
  arena.want(matrix.memory, {packed_room(in, out)});
  arena.want(matrix.transposed_memory, {packed_room(out, in)});
}

void PackedWeights::pack(Parameters& parameters) {
  for (Matrix& matrix : matrices_) {
    const ConstTensorView value = parameters.value(matrix.parameter), other = value.transposed(0, 1);
    matrix.packed = PackedMatrix(matrix.turned ? other : value, matrix.memory, PackedAs::bf16);
    matrix.transposed = PackedMatrix(matrix.turned ? value : other, matrix.transposed_memory, PackedAs::bf16);
  }
}

model::Operand PackedWeights::operand(int parameter) const {
  const auto found = std::ranges::find(matrices_, parameter, &Matrix::parameter);
  return model::Operand(found->packed, &found->transposed);
}

}  // namespace attend::train
