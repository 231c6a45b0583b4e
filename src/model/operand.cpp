#include "model/operand.h"

#include <algorithm>

namespace attend::model {

std::int64_t Operand::room_for(std::int64_t in, std::int64_t out) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  return std::max(PackedMatrix::bytes_needed(in, out), PackedMatrix::bytes_needed(out, in)) / kFloat;
}

void Operand::multiply_plain(ConstTensorView a, ConstTensorView w, TensorView out,
                             const MatmulEpilogue& epilogue) const {
  if (a.dtype() == DType::f64) return matmul(a, w, out, epilogue);
  matmul(a, PackedMatrix(w, room_), out, epilogue);
}

void Operand::multiply(ConstTensorView a, TensorView out, const MatmulEpilogue& epilogue) const {
  if (packed_ != nullptr) return matmul(a, *packed_, out, epilogue);
  multiply_plain(a, plain_, out, epilogue);
}

void Operand::multiply_transposed(ConstTensorView a, TensorView out, const MatmulEpilogue& epilogue) const {
  if (transposed_ != nullptr) return matmul(a, *transposed_, out, epilogue);
  multiply_plain(a, plain_.transposed(0, 1), out, epilogue);
}

}  // namespace attend::model
