// Memory of the device for the length of one call. It is had and given back in the order of the stream, so
// that neither waits for what is being computed.
#pragma once

#include <cstddef>

#include "plugin/cuda_table.h"

namespace attend::cuda {

// Of a device's pool; throws NoMemory, which says how much was wanted and how much there is.
void* device_memory(plugin::Place place, std::size_t bytes);
[[noreturn]] void refuse_memory(plugin::Place place, std::size_t bytes);
void give_back(plugin::Place place, void* memory) noexcept;

class Scratch {
 public:
  Scratch() = default;
  Scratch(plugin::Place place, std::size_t bytes)
      : place_(place), memory_(bytes == 0 ? nullptr : device_memory(place, bytes)) {}
  Scratch(Scratch&& other) noexcept : place_(other.place_), memory_(other.memory_) {
    other.memory_ = nullptr;
  }
  Scratch& operator=(Scratch&& other) noexcept {
    if (this != &other) {
      if (memory_ != nullptr) give_back(place_, memory_);
      place_ = other.place_;
      memory_ = other.memory_;
      other.memory_ = nullptr;
    }
    return *this;
  }
  ~Scratch() {
    if (memory_ != nullptr) give_back(place_, memory_);
  }
  template <class T = char>
  T* data() const {
    return static_cast<T*>(memory_);
  }

 private:
  plugin::Place place_;
  void* memory_ = nullptr;
};

}  // namespace attend::cuda
