#include "cuda/memory.h"

#include <array>
#include <cstdio>

#include "cuda/elements.cuh"
#include "cuda/error.h"
#include "cuda/scratch.h"
#include "cuda/stream.h"
#include "cuda/walk.cuh"

namespace attend::cuda {
namespace {

constexpr int kMostDevices = 16;
constexpr int kOldest = 80;  // the portable kernels are compiled for compute capability 8.0
// What a pool keeps for the next call instead of giving it back to the driver: enough for the scratch memory of
// long sequences, little beside what a card has.
constexpr std::uint64_t kKeptByPool = std::uint64_t{1} << 30;

std::array<DeviceFacts, kMostDevices> known;

// Looks once; a device that is added to the machine later is not seen.
struct Found {
  int count = 0;
  char reason[200] = "";

  Found() {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0) {
      why("no NVIDIA driver is installed (libcuda.so.1)");
      return;
    }
    if (driver < runtime / 1000 * 1000) {
      std::snprintf(reason, sizeof reason, "the NVIDIA driver is too old: it supports CUDA %d.%d, and %d.0 is needed",
                    driver / 1000, driver % 1000 / 10, runtime / 1000);
      return;
    }
    int all = 0;
    const cudaError_t code = cudaGetDeviceCount(&all);
    if (code != cudaSuccess || all == 0) {
      why(code == cudaSuccess || code == cudaErrorNoDevice ? "the NVIDIA driver finds no device"
                                                           : cudaGetErrorString(code));
      return;
    }
    for (; count < all && count < kMostDevices; ++count) {
      DeviceFacts& one = known[static_cast<std::size_t>(count)];
      cudaDeviceGetAttribute(&one.major, cudaDevAttrComputeCapabilityMajor, count);
      cudaDeviceGetAttribute(&one.minor, cudaDevAttrComputeCapabilityMinor, count);
      cudaDeviceGetAttribute(&one.multiprocessors, cudaDevAttrMultiProcessorCount, count);
      if (10 * one.major + one.minor < kOldest) {  // devices are numbered, so those after it are lost too
        std::snprintf(reason, sizeof reason, "device %d has compute capability %d.%d, and 8.0 is needed", count,
                      one.major, one.minor);
        break;
      }
      cudaMemPool_t pool = nullptr;
      std::uint64_t kept = kKeptByPool;
      if (cudaDeviceGetDefaultMemPool(&pool, count) == cudaSuccess)
        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
    }
    cudaGetLastError();
  }
  void why(const char* text) { std::snprintf(reason, sizeof reason, "%s", text); }
};

const Found& found() {
  static const Found once;
  return once;
}

__global__ void copy_kernel(const char* from, Number from_number, Walk from_walk, char* to, Number to_number,
                            Walk to_walk, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const std::int64_t a = from_walk.offset(i), b = to_walk.offset(i);
    if (from_number == Number::boolean) {
      to[b] = from[a] != 0;
    } else if (from_number == Number::i64) {
      reinterpret_cast<std::int64_t*>(to)[b] = reinterpret_cast<const std::int64_t*>(from)[a];
    } else if (from_number == to_number && (from_number == Number::bf16 || from_number == Number::f16)) {
      reinterpret_cast<std::uint16_t*>(to)[b] = reinterpret_cast<const std::uint16_t*>(from)[a];
    } else {
      store_double(to, to_number, b, load_double(from, from_number, a));
    }
  }
}

__global__ void fill_kernel(char* out, Number number, Walk walk, std::int64_t count, double value) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const std::int64_t at = walk.offset(i);
    if (number == Number::boolean) {
      out[at] = value != 0;
    } else if (number == Number::i64) {
      reinterpret_cast<std::int64_t*>(out)[at] = static_cast<std::int64_t>(value);
    } else {
      store_double(out, number, at, value);
    }
  }
}

}  // namespace

std::int32_t device_count(const char** reason) {
  *reason = found().reason;
  return found().count;
}

const DeviceFacts& facts(std::int32_t device) { return known[static_cast<std::size_t>(device)]; }

void describe(std::int32_t device, char* text, std::size_t size) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "ask the device what it is");
  std::snprintf(text, size, "%s, compute capability %d.%d, %.1f GB", properties.name, properties.major,
                properties.minor, static_cast<double>(properties.totalGlobalMem) * 1e-9);
}

OnDevice::OnDevice(std::int32_t device) {
  check(cudaGetDevice(&before_), "ask for the current device");
  if (before_ == device) return;
  check(cudaSetDevice(device), "use the device");
  changed_ = true;
}
OnDevice::~OnDevice() {
  if (changed_) cudaSetDevice(before_);
}

void* device_memory(plugin::Place place, std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t code = cudaMallocAsync(&memory, bytes, static_cast<cudaStream_t>(place.stream));
  if (code == cudaErrorMemoryAllocation) refuse_memory(place, bytes);
  check(code, "get memory");
  return memory;
}

void refuse_memory(plugin::Place place, std::size_t bytes) {
  cudaGetLastError();
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  std::ostringstream text;
  text << "needs " << bytes << " bytes on cuda:" << place.device << ", which has " << free << " free";
  throw NoMemory(text.str());
}

void give_back(plugin::Place place, void* memory) noexcept {
  cudaFreeAsync(memory, static_cast<cudaStream_t>(place.stream));
}

void copy_bytes(plugin::Place place, void* to, std::int32_t to_device, const void* from, std::int32_t from_device,
                std::size_t bytes) {
  const auto stream = static_cast<cudaStream_t>(place.stream);
  if (to_device != from_device && is_capturing(place))
    fail("cannot copy from one memory to another on a stream that a graph is being captured from");
  if (to_device != plugin::kHost && from_device != plugin::kHost && to_device != from_device) {
    check(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream), "copy between devices");
  } else {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copy");
  }
  if (to_device != from_device) check(cudaStreamSynchronize(stream), "wait for a copy");
}

void copy(plugin::Place place, const plugin::View& from, const plugin::View& to) {
  const Walk from_walk(from), to_walk(to);
  const std::int64_t count = from_walk.count();
  if (count == 0) return;
  copy_kernel<<<walk_blocks(count), kWalkThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      static_cast<const char*>(from.data), from.number, from_walk, static_cast<char*>(to.data), to.number, to_walk,
      count);
  check(cudaGetLastError(), "launch the copy");
}

void fill(plugin::Place place, const plugin::View& out, double value) {
  const Walk walk(out);
  const std::int64_t count = walk.count();
  if (count == 0) return;
  fill_kernel<<<walk_blocks(count), kWalkThreads, 0, static_cast<cudaStream_t>(place.stream)>>>(
      static_cast<char*>(out.data), out.number, walk, count, value);
  check(cudaGetLastError(), "launch the fill");
}

}  // namespace attend::cuda
