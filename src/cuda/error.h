// How functions of the plugin fail inside: an exception that ends at the table, where it becomes the thread's
// last error. Kernels report nothing; the driver does.
#pragma once

#include <cuda_runtime.h>

#include <sstream>
#include <stdexcept>
#include <string>

namespace attend::cuda {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct NoMemory : Failure {
  using Failure::Failure;
};

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Failure(text.str());
}

// doing: what could not be done, as in "could not launch attention: an illegal memory access was
// encountered".
inline void check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // so that the next call does not find it again
  fail("could not ", doing, ": ", cudaGetErrorString(code));
}

}  // namespace attend::cuda
