#include "base/operations.h"

#include <array>
#include <atomic>

#include "base/error.h"

namespace attend {
namespace {

constexpr std::int32_t kMostDevices = 16;  // of a kind
constexpr std::size_t kKinds = 2;

std::array<std::array<std::atomic<const Operations*>, kMostDevices>, kKinds> added{};

std::atomic<const Operations*>* place_of(Device device) noexcept {
  if (device.index < 0 || device.index >= kMostDevices) return nullptr;
  return &added[static_cast<std::size_t>(device.kind)][static_cast<std::size_t>(device.index)];
}

const Operations* found(Device device) {
  if (device == Device{}) return &kHostOperations;
  const std::atomic<const Operations*>* const place = place_of(device);
  if (place == nullptr) return nullptr;
  const Operations* const row = place->load(std::memory_order_acquire);
  return row == nullptr && device.kind == DeviceKind::cuda ? cuda_operations(device.index) : row;
}

}  // namespace

std::string to_string(Device device) {
  if (device == Device{}) return "cpu";
  return joined(device.is_host() ? "cpu:" : "cuda:", device.index);
}

std::vector<Device> devices() {
  std::vector<Device> all{Device{}};
  for (std::int32_t index = 0; index < kMostDevices; ++index) {
    const Device device{DeviceKind::cuda, index};
    if (found(device) != nullptr) all.push_back(device);
  }
  return all;
}

void detail::add_device(Device device, const Operations& operations) {
  if (device.is_host() || place_of(device) == nullptr) {
    refuse("add_device", to_string(device), " cannot be added");
  }
  place_of(device)->store(&operations, std::memory_order_release);
}

void detail::remove_device(Device device) noexcept {
  if (std::atomic<const Operations*>* const place = place_of(device)) place->store(nullptr);
}

const Operations& detail::operations_of(const char* operation, Device device) {
  const Operations* const operations = found(device);
  if (operations != nullptr) return *operations;
  if (device.is_host()) refuse(operation, "there is no device ", to_string(device), " here");
  refuse(operation, "there is no device ", to_string(device), " here: ", why_not_cuda(device.index));
}

Device detail::common_device(const char* operation, std::span<const PlacedOperand> operands) {
  const PlacedOperand* first = nullptr;
  for (const PlacedOperand& operand : operands) {
    if (!operand.given) continue;
    if (first == nullptr) first = &operand;
    if (operand.device != first->device) {
      refuse(operation, operand.name, " is on ", to_string(operand.device), ", but ", first->name, " is on ",
             to_string(first->device));
    }
  }
  return first == nullptr ? Device{} : first->device;
}

void detail::require_host(const char* operation, std::span<const PlacedOperand> operands) {
  for (const PlacedOperand& operand : operands) {
    if (operand.given && !operand.device.is_host()) {
      refuse(operation, operand.name, " is on ", to_string(operand.device),
             ", and this computes on the host only; copy it first");
    }
  }
}

void detail::refuse_missing(const char* operation, Device device) {
  refuse(operation, "is not implemented on ", to_string(device));
}

}  // namespace attend
