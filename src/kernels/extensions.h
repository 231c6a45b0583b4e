// What this processor has beyond the instruction sets that Highway knows.
#pragma once

namespace attend::kernels {

// Bits of Extension. That the system keeps the registers of AVX-512 is what its Highway target says.
unsigned extensions_of_this_machine() noexcept;

}  // namespace attend::kernels
