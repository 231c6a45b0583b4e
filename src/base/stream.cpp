#include <attend/stream.h>

#include <array>

#include "base/error.h"
#include "base/operations.h"

namespace attend {
namespace {

constexpr std::int32_t kMostStreams = 16;  // as many as there can be devices of a kind

thread_local std::array<void*, kMostStreams> streams{};

bool has_streams(Device device) noexcept {
  return device.kind == DeviceKind::cuda && device.index >= 0 && device.index < kMostStreams;
}

void*& stream_of(Device device) { return streams[static_cast<std::size_t>(device.index)]; }

}  // namespace

StreamScope::StreamScope(Device device, void* stream) : device_(device) {
  if (!has_streams(device)) refuse("stream", to_string(device), " has no streams");
  outer_ = stream_of(device);
  stream_of(device) = stream;
}

StreamScope::~StreamScope() { stream_of(device_) = outer_; }

void* current_stream(Device device) { return has_streams(device) ? stream_of(device) : nullptr; }

void synchronize(Device device) {
  const auto function = operations_of("synchronize", device).synchronize;
  if (function == nullptr) refuse_missing("synchronize", device);
  function(device);
}

void wait_for_stream(Device device, void* other) {
  const auto function = operations_of("wait_for_stream", device).wait_for_stream;
  if (function == nullptr) refuse_missing("wait_for_stream", device);
  function(device, other);
}

}  // namespace attend
