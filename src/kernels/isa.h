// Every vector kernel calls this before it dispatches for the first time.
#pragma once

namespace attend::kernels {

// Heeds ATTEND_ISA, once. Throws std::invalid_argument when it names an instruction set that is not
// available.
void require_isa();

}  // namespace attend::kernels
