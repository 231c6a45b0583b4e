// Measures the two limits of any kernel: how fast this machine multiplies and adds when it does nothing else,
// and how fast it reads memory. With the current instruction set and threads, on the library's own thread
// pool, so that a share of the peak compares like with like.
#pragma once

#include <attend/tensor.h>

#include <cstdint>

namespace attend::bench {

// Multiply-adds in registers, about 2 ms of them on every thread; returns the number of floating-point
// operations (2 per multiply-add). An instruction set without fused multiply-add uses a product and a sum.
double run_multiply_adds();

// Reads a buffer from end to end, on all threads at once.
class MemoryReader {
 public:
  // Much larger than the caches: eight times the largest one that the system reports (at most 2 GiB), and at
  // least `least` bytes.
  explicit MemoryReader(std::int64_t least);
  double bytes() const noexcept { return static_cast<double>(buffer_.count()) * sizeof(float); }
  void run();

 private:
  Tensor buffer_;
};

}  // namespace attend::bench
