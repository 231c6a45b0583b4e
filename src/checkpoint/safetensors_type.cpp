#include "checkpoint/safetensors_type.h"

#include <algorithm>
#include <array>

namespace attend::checkpoint {
namespace {

constexpr std::array kTypes = {
    SafetensorsType{"F32", 32, DType::f32},          SafetensorsType{"F64", 64, DType::f64},
    SafetensorsType{"BF16", 16, DType::bf16},        SafetensorsType{"F16", 16, DType::f16},
    SafetensorsType{"BOOL", 8, DType::boolean},      SafetensorsType{"I64", 64, DType::i64},
    SafetensorsType{"F4", 4, std::nullopt},          SafetensorsType{"F6_E2M3", 6, std::nullopt},
    SafetensorsType{"F6_E3M2", 6, std::nullopt},     SafetensorsType{"U8", 8, std::nullopt},
    SafetensorsType{"I8", 8, std::nullopt},          SafetensorsType{"F8_E5M2", 8, std::nullopt},
    SafetensorsType{"F8_E4M3", 8, std::nullopt},     SafetensorsType{"F8_E8M0", 8, std::nullopt},
    SafetensorsType{"F8_E4M3FNUZ", 8, std::nullopt}, SafetensorsType{"F8_E5M2FNUZ", 8, std::nullopt},
    SafetensorsType{"I16", 16, std::nullopt},        SafetensorsType{"U16", 16, std::nullopt},
    SafetensorsType{"I32", 32, std::nullopt},        SafetensorsType{"U32", 32, std::nullopt},
    SafetensorsType{"C64", 64, std::nullopt},        SafetensorsType{"U64", 64, std::nullopt},
};

}  // namespace

const SafetensorsType* find_type(std::string_view name) noexcept {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

const SafetensorsType& type_of(DType dtype) noexcept {
  return *std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) { return type.dtype == dtype; });
}

}  // namespace attend::checkpoint
