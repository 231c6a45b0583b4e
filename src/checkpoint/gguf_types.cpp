#include "checkpoint/gguf_types.h"

#include <algorithm>
#include <array>

#include "checkpoint/gguf_blocks.h"

namespace attend::checkpoint {
namespace {

// Numbers that are missing belonged to types that were given up.
constexpr std::array kGgufTypes = {
    GgufTensorType{0, "F32", 1, 4, DType::f32},
    GgufTensorType{1, "F16", 1, 2, DType::f16},
    GgufTensorType{2, "Q4_0", 32, 18, {}, decode_q4_0, BlockType::q4_0},
    GgufTensorType{3, "Q4_1", 32, 20, {}, decode_q4_1, BlockType::q4_1},
    GgufTensorType{6, "Q5_0", 32, 22, {}, decode_q5_0},
    GgufTensorType{7, "Q5_1", 32, 24, {}, decode_q5_1},
    GgufTensorType{8, "Q8_0", 32, 34, {}, decode_q8_0, BlockType::q8_0},
    GgufTensorType{9, "Q8_1", 32, 40},
    GgufTensorType{10, "Q2_K", 256, 84, {}, decode_q2_k},
    GgufTensorType{11, "Q3_K", 256, 110, {}, decode_q3_k},
    GgufTensorType{12, "Q4_K", 256, 144, {}, decode_q4_k, BlockType::q4_k},
    GgufTensorType{13, "Q5_K", 256, 176, {}, decode_q5_k},
    GgufTensorType{14, "Q6_K", 256, 210, {}, decode_q6_k, BlockType::q6_k},
    GgufTensorType{15, "Q8_K", 256, 292},
    GgufTensorType{16, "IQ2_XXS", 256, 66},
    GgufTensorType{17, "IQ2_XS", 256, 74},
    GgufTensorType{18, "IQ3_XXS", 256, 98},
    GgufTensorType{19, "IQ1_S", 256, 50},
    GgufTensorType{20, "IQ4_NL", 32, 18},
    GgufTensorType{21, "IQ3_S", 256, 110},
    GgufTensorType{22, "IQ2_S", 256, 82},
    GgufTensorType{23, "IQ4_XS", 256, 136},
    GgufTensorType{24, "I8", 1, 1},
    GgufTensorType{25, "I16", 1, 2},
    GgufTensorType{26, "I32", 1, 4},
    GgufTensorType{27, "I64", 1, 8, DType::i64},
    GgufTensorType{28, "F64", 1, 8, DType::f64},
    GgufTensorType{29, "IQ1_M", 256, 56},
    GgufTensorType{30, "BF16", 1, 2, DType::bf16},
    GgufTensorType{34, "TQ1_0", 256, 54},
    GgufTensorType{35, "TQ2_0", 256, 66},
    GgufTensorType{39, "MXFP4", 32, 17},
    GgufTensorType{40, "NVFP4", 64, 36},
    GgufTensorType{41, "Q1_0", 128, 18},
};

}  // namespace

const GgufTensorType* find_gguf_type(std::uint32_t number) noexcept {
  const auto found = std::find_if(kGgufTypes.begin(), kGgufTypes.end(),
                                  [&](const GgufTensorType& type) { return type.number == number; });
  return found == kGgufTypes.end() ? nullptr : &*found;
}

}  // namespace attend::checkpoint
