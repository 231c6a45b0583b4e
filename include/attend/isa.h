// Which instruction set the vector kernels use. Results differ between them by rounding only; with the same
// one, results are the same bits.
#pragma once

#include <attend/precision.h>

#include <string>
#include <string_view>
#include <vector>

namespace attend {

// The instruction sets that this build has and this machine can run, best first, of those that compute in
// this precision in different ways. f32: "avx512", "avx2", "sse4", "neon", "scalar", ... The small numbers
// have instructions of their own on some processors: bf16 "avx512_amx" and "avx512_bf16", int8 "avx512_amx",
// "avx512_vnni", "avx2_vnni", "neon_dot".
std::vector<std::string> available_isas(Precision precision = Precision::f32);

// The one that computes in this precision: of what set_isa() said, else of the environment variable
// ATTEND_ISA, else the best. Throws when ATTEND_ISA names one that is not available.
std::string isa(Precision precision = Precision::f32);

// Any name that available_isas() has for some precision, and no instruction beyond it: with "avx512" int8 is
// computed without VNNI. Takes effect at the next call; must not run at the same time as another call into
// the library. "" = back to the default.
void set_isa(std::string_view name);

}  // namespace attend
