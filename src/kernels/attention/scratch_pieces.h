// Cuts the scratch memory of a kernel into pieces, each aligned to a cache line and to any vector.
#pragma once

#include <cstdint>

namespace attend::kernels {

class ScratchPieces {
 public:
  explicit ScratchPieces(float* memory) : at_(memory) {}

  template <class T>
  T* take(std::int64_t count) noexcept {
    T* const piece = reinterpret_cast<T*>(at_);
    at_ += floats_for<T>(count);
    return piece;
  }

  // How many floats of scratch a piece takes.
  template <class T>
  static constexpr std::int64_t floats_for(std::int64_t count) noexcept {
    constexpr std::int64_t kLine = 64 / sizeof(float);
    const std::int64_t floats = (count * static_cast<std::int64_t>(sizeof(T)) + 3) / 4;
    return (floats + kLine - 1) / kLine * kLine;
  }

 private:
  float* at_;
};

}  // namespace attend::kernels
