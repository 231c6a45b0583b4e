// A matrix as a product reads it: packed once, in a model that only reads; or a parameter, packed again into
// one room whenever it is used, in a model that learns.
#pragma once

#include <attend/matmul.h>
#include <attend/tensor.h>

namespace attend::model {

class Operand {
 public:
  Operand() = default;
  // transposed: for multiply_transposed(); null where it is not needed.
  explicit Operand(const PackedMatrix& packed, const PackedMatrix* transposed = nullptr)
      : packed_(&packed), transposed_(transposed) {}
  // plain (in, out), f32 or f64, any strides. room: f32, enough for the packed matrix, transposed or not;
  // unused for f64.
  Operand(ConstTensorView plain, TensorView room) : plain_(plain), room_(room) {}

  // out = a w + what follows; out = a w^T + what follows.
  void multiply(ConstTensorView a, TensorView out, const MatmulEpilogue& epilogue = {}) const;
  void multiply_transposed(ConstTensorView a, TensorView out, const MatmulEpilogue& epilogue = {}) const;

  // Whether rows that were rounded to bf16 before give multiply() the same bits.
  bool rounds_rows() const { return packed_ != nullptr && packed_->rounds_rows(); }

  // How many f32 elements of room a matrix of this shape needs.
  static std::int64_t room_for(std::int64_t in, std::int64_t out);

 private:
  void multiply_plain(ConstTensorView a, ConstTensorView w, TensorView out,
                      const MatmulEpilogue& epilogue) const;

  const PackedMatrix* packed_ = nullptr;
  const PackedMatrix* transposed_ = nullptr;
  ConstTensorView plain_{};
  TensorView room_{};
};

}  // namespace attend::model
