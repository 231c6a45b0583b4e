#include "nn/learning.h"

#include "base/error.h"
#include "kernels/isa.h"
#include "nn/packed_bf16.h"

namespace attend {

PackedAs detail::packed_to_learn(Precision precision) {
  if (precision == Precision::int8) refuse("train", "a model learns in f32 or bf16, not in int8");
  if (precision == Precision::f32) return PackedAs::f32;
  kernels::require_isa();
  return multiplies_bf16_numbers() ? PackedAs::bf16 : PackedAs::f32;
}

}  // namespace attend
