// Where the memory of a tensor is, and who computes with it. Memory on a device other than the host is
// reached through the library's operations and copy(), never through a pointer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attend {

enum class DeviceKind : std::uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  std::int32_t index = 0;

  constexpr bool is_host() const noexcept { return kind == DeviceKind::cpu; }
  friend constexpr bool operator==(const Device&, const Device&) noexcept = default;
};

std::string to_string(Device device);  // "cpu", "cuda:0"

// The devices that this process can compute on; the host is the first.
std::vector<Device> devices();

}  // namespace attend
