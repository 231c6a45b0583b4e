// The block formats of GGUF's quantised tensors, to f32. Each number is rounded where the `gguf` package
// rounds it, so the bits are the same.
//
// Bytes of a block are little-endian; d and m below are its half-precision scale and offset.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attend::checkpoint {

// Blocks of 32: bits (low nibbles are elements 0 to 15, high nibbles 16 to 31) times d, plus m in the _1
// forms.
void decode_q4_0(const std::byte* blocks, std::int64_t count, float* out) noexcept;
void decode_q4_1(const std::byte* blocks, std::int64_t count, float* out) noexcept;
void decode_q5_0(const std::byte* blocks, std::int64_t count, float* out) noexcept;
void decode_q5_1(const std::byte* blocks, std::int64_t count, float* out) noexcept;
void decode_q8_0(const std::byte* blocks, std::int64_t count, float* out) noexcept;

// Blocks of 256, in groups of 16 or 32 that have scales (and offsets) of few bits, multiples of the block's.
void decode_q2_k(const std::byte* blocks, std::int64_t count, float* out) noexcept;
void decode_q3_k(const std::byte* blocks, std::int64_t count, float* out) noexcept;
void decode_q4_k(const std::byte* blocks, std::int64_t count, float* out) noexcept;
void decode_q5_k(const std::byte* blocks, std::int64_t count, float* out) noexcept;
void decode_q6_k(const std::byte* blocks, std::int64_t count, float* out) noexcept;

}  // namespace attend::checkpoint
