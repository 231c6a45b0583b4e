// Devices and their memory, for the table (plugin/cuda_table.h).
#pragma once

#include "plugin/cuda_table.h"

namespace attend::cuda {

// 0 with a reason, where there is none that can be used.
std::int32_t device_count(const char** reason);
void describe(std::int32_t device, char* text, std::size_t size);
struct DeviceFacts {
  int major = 0, minor = 0, multiprocessors = 0;
  bool is_hopper() const { return major == 9 && minor == 0; }
};
const DeviceFacts& facts(std::int32_t device);

// Makes a device the thread's own until the end of its life.
class OnDevice {
 public:
  explicit OnDevice(std::int32_t device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

void copy_bytes(plugin::Place place, void* to, std::int32_t to_device, const void* from,
                std::int32_t from_device, std::size_t bytes);
void copy(plugin::Place place, const plugin::View& from, const plugin::View& to);
void fill(plugin::Place place, const plugin::View& out, double value);

}  // namespace attend::cuda
