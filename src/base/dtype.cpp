#include <attend/blocks.h>
#include <attend/dtype.h>

namespace attend {

std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::boolean:
      return 1;
  }
  return 0;
}

std::string_view name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::boolean:
      return "boolean";
    case DType::i64:
      return "i64";
  }
  return "unknown";
}

std::string_view name_of(BlockType type) noexcept {
  constexpr std::string_view kNames[] = {"Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"};
  return kNames[static_cast<std::size_t>(type)];
}

}  // namespace attend
