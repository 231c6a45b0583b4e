#include "kernels/isa.h"
#include "kernels/matmul_int8/int8_tile.h"

namespace attend::kernels {

const Int8Kernel& int8_kernel() noexcept {
#if defined(__x86_64__)
  if (has_extension(Extension::amx)) return kInt8Amx;
  if (has_extension(Extension::avx512_vnni)) return kInt8Avx512Vnni;
  if (has_extension(Extension::avx_vnni)) return kInt8AvxVnni;
  return kInt8Words;
#elif defined(__aarch64__)
  return has_extension(Extension::neon_dot) ? kInt8NeonDot : kInt8Neon;
#else
  return kInt8Words;
#endif
}

}  // namespace attend::kernels
