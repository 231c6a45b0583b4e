// Every vector kernel calls require_isa() before it dispatches for the first time.
#pragma once

#include <cstdint>

namespace attend::kernels {

// Heeds ATTEND_ISA, once. Throws std::invalid_argument when it names an instruction set that is not
// available.
void require_isa();

// Instructions that some processors of an instruction set have, and others have not.
enum class Extension : std::uint8_t {
  avx512_vnni = 1,  // vpdpbusd on 512 bits
  avx512_bf16 = 2,  // vdpbf16ps on 512 bits
  avx_vnni = 4,     // vpdpbusd on 256 bits, for processors without AVX-512
  neon_dot = 8,     // sdot
  amx = 16,         // tiles of 16 x 16 sums, of bf16 and of int8 numbers
};

// Whether the instruction set in use has it. After require_isa().
bool has_extension(Extension extension) noexcept;

}  // namespace attend::kernels
