#include "cuda/allocations.h"

#include <mutex>
#include <unordered_map>
#include <vector>

#include "cuda/error.h"
#include "cuda/scratch.h"
#include "cuda/stream.h"

namespace attend::cuda {
namespace {

struct Allocation {
  void* stream = nullptr;
  bool of_graph = false;
  int owners = 1;  // the tensor and, of a graph, the graph
};

// Memory that was not had from the null stream, and what is to be given back when no capture is in the way.
// Never destroyed: tensors may be, after it.
struct Books {
  std::mutex mutex;
  std::unordered_map<void*, Allocation> known;
  std::vector<void*> dropped;
};
Books& books() {
  static Books& once = *new Books;
  return once;
}

void enter(void* memory, const Allocation& allocation) {
  const std::lock_guard lock(books().mutex);
  books().known.emplace(memory, allocation);
}

void give_back_later(void* memory) {
  const std::lock_guard lock(books().mutex);
  books().dropped.push_back(memory);
}

// One owner less; whether that was the last one.
bool leave(void* memory, Allocation& allocation) {
  const std::lock_guard lock(books().mutex);
  const auto found = books().known.find(memory);
  if (found == books().known.end()) return true;
  if (--found->second.owners > 0) return false;
  allocation = found->second;
  books().known.erase(found);
  return true;
}

// When a graph is destroyed. Nothing of CUDA may be called there.
void leave_graph(void* memory) {
  Allocation allocation;
  if (leave(memory, allocation)) give_back_later(memory);
}

void give_back_dropped(plugin::Place place) {
  std::vector<void*> dropped;
  {
    const std::lock_guard lock(books().mutex);
    if (books().dropped.empty() || is_capturing(place)) return;
    dropped.swap(books().dropped);
  }
  const OutsideCapture outside;
  for (void* const memory : dropped) cudaFree(memory);  // after everything that the device has to do
  cudaGetLastError();
}

void* memory_of_graph(plugin::Place place, std::size_t bytes) {
  void* memory = nullptr;
  {
    const OutsideCapture outside;
    const cudaError_t code = cudaMalloc(&memory, bytes);
    if (code == cudaErrorMemoryAllocation) refuse_memory(place, bytes);
    check(code, "get memory");
  }
  enter(memory, {place.stream, true, 2});
  cudaStreamCaptureStatus status;
  cudaGraph_t graph = nullptr;
  cudaUserObject_t object = nullptr;
  check(cudaStreamGetCaptureInfo(stream_of(place), &status, nullptr, &graph), "ask which graph is captured");
  check(cudaUserObjectCreate(&object, memory, leave_graph, 1, cudaUserObjectNoDestructorSync), "give memory to a graph");
  check(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove), "give memory to a graph");
  return memory;
}

}  // namespace

void* allocate(plugin::Place place, std::size_t bytes) {
  give_back_dropped(place);
  void* memory = nullptr;
  if (is_capturing(place)) {
    memory = memory_of_graph(place, bytes);
  } else {
    memory = device_memory(place, bytes);
    if (place.stream != nullptr) enter(memory, {place.stream});
  }
  check(cudaMemsetAsync(memory, 0, bytes, stream_of(place)), "clear memory");
  return memory;
}

void release(plugin::Place place, void* memory) {
  Allocation allocation;
  if (!leave(memory, allocation)) return;
  // A graph cannot give back what it has not got.
  if (allocation.of_graph || is_capturing(place)) return give_back_later(memory);
  if (allocation.stream == nullptr || allocation.stream == place.stream)
    return give_back({place.device, allocation.stream}, memory);
  // Its stream may be gone: wait for the device.
  const OutsideCapture outside;
  cudaFree(memory);
  cudaGetLastError();
}

}  // namespace attend::cuda
