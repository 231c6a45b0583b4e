// The table that the library opens. Failures end here, as the thread's last error.
#include <cstring>
#include <exception>
#include <string>

#include "cuda/attention.h"
#include "cuda/backward.h"
#include "cuda/error.h"
#include "cuda/memory.h"
#include "cuda/row_state.h"
#include "cuda/scratch.h"

namespace attend::cuda {
namespace {

thread_local std::string last_error;

template <class Action>
int guarded(Action action) noexcept {
  try {
    action();
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
  }
  return 1;
}

// A function over a place and its other arguments, as an entry of the table.
template <auto kFunction, class Type = decltype(kFunction)>
struct OnPlace;
template <auto kFunction, class... Arguments>
struct OnPlace<kFunction, void (*)(plugin::Place, Arguments...)> {
  static int run(plugin::Place place, Arguments... arguments) {
    return guarded([&] {
      const OnDevice device(place.device);
      kFunction(place, arguments...);
    });
  }
};

int allocate(plugin::Place place, std::size_t bytes, void** memory) {
  *memory = nullptr;
  return guarded([&] {
    const OnDevice device(place.device);
    *memory = device_memory(place, bytes);
    check(cudaMemsetAsync(*memory, 0, bytes, static_cast<cudaStream_t>(place.stream)), "clear memory");
  });
}

void release(plugin::Place place, void* memory) {
  guarded([&] {
    const OnDevice device(place.device);
    give_back(place, memory);
  });
}

const plugin::Table kTable{
    .last_error = [] { return last_error.c_str(); },
    .device_count =
        [] {
          const char* reason = "";
          const std::int32_t count = device_count(&reason);
          last_error = reason;
          return count;
        },
    .describe = [](std::int32_t device, char* text, std::size_t size) {
      return guarded([&] { describe(device, text, size); });
    },
    .allocate = allocate,
    .release = release,
    .copy_bytes = OnPlace<&copy_bytes>::run,
    .copy = OnPlace<&copy>::run,
    .fill = OnPlace<&fill>::run,
    .attention_kernel = attention_kernel,
    .attention = OnPlace<&attention>::run,
    .attention_rows = nullptr,
    .summarize_weights = nullptr,
    .attention_backward = OnPlace<&attention_backward>::run,
    .log_sum_exp = OnPlace<&log_sum_exp>::run,
    .merge_attention = OnPlace<&merge_attention>::run,
};

}  // namespace
}  // namespace attend::cuda

extern "C" __attribute__((visibility("default"))) const attend::plugin::Table* attend_cuda_table(
    std::uint32_t version) {
  return version == attend::plugin::kTableVersion ? &attend::cuda::kTable : nullptr;
}
