// The two walls that a kernel can hit, measured: how fast this machine multiplies and adds when it does
// nothing else, and how fast it reads memory. With the instruction set and the threads in use, on the
// library's own thread pool, so that a share of the peak compares like with like.
#pragma once

#include <attend/tensor.h>

#include <cstdint>

namespace attend::bench {

// Multiply-adds in registers, some 2 ms of them on every thread; returns how many floating-point operations
// that was (2 for each multiply-add). An instruction set without a fused multiply-add uses a product and a
// sum.
double run_multiply_adds();

// Reads a buffer from end to end, on every thread at once.
class MemoryReader {
 public:
  // Larger than the caches by far: eight times the largest one that the system tells of (2 GiB at
  // most), at least `least` bytes.
  explicit MemoryReader(std::int64_t least);
  double bytes() const noexcept { return static_cast<double>(buffer_.count()) * sizeof(float); }
  void run();

 private:
  Tensor buffer_;
};

}  // namespace attend::bench
