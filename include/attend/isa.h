// Which instruction set the vector kernels use. Results differ between them by rounding only; with the same
// one, results are the same bits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend {

// The instruction sets that this build has and this machine can run, best first: "avx512", "avx2", "sse4",
// "ssse3", "neon", "scalar", ...
std::vector<std::string> available_isas();

// The one in use: what set_isa() said, else the environment variable ATTEND_ISA, else the best. Throws when
// ATTEND_ISA names one that is not available.
std::string isa();

// Takes effect at the next call; must not run at the same time as another call into the library. "" = back to
// the default.
void set_isa(std::string_view name);

}  // namespace attend
