// The table that the library opens. Failures end here, as the thread's last error.
#include <cstring>
#include <exception>
#include <string>

#include "cuda/allocations.h"
#include "cuda/attention.h"
#include "cuda/backward.h"
#include "cuda/error.h"
#include "cuda/memory.h"
#include "cuda/row_state.h"
#include "cuda/stream.h"
#include "cuda/weights.h"

namespace attend::cuda {
namespace {

thread_local std::string last_error;

template <class Action>
int guarded(Action action) noexcept {
  try {
    action();
    return 0;
  } catch (const NoMemory& error) {
    last_error = error.what();
    return plugin::kNoMemory;
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
      require_stream(place);
      kFunction(place, arguments...);
    });
  }
};

int allocate_entry(plugin::Place place, std::size_t bytes, void** memory) {
  *memory = nullptr;
  return guarded([&] {
    const OnDevice device(place.device);
    require_stream(place);
    *memory = allocate(place, bytes);
  });
}

void release_entry(plugin::Place place, void* memory) {
  guarded([&] {
    const OnDevice device(place.device);
    release(place, memory);
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
    .allocate = allocate_entry,
    .release = release_entry,
    .copy_bytes = OnPlace<&copy_bytes>::run,
    .copy = OnPlace<&copy>::run,
    .fill = OnPlace<&fill>::run,
    .attention_kernel = attention_kernel,
    .attention = OnPlace<&attention>::run,
    .attention_rows = OnPlace<&attention_rows>::run,
    .summarize_weights = OnPlace<&summarize_weights>::run,
    .attention_backward = OnPlace<&attention_backward>::run,
    .log_sum_exp = OnPlace<&log_sum_exp>::run,
    .merge_attention = OnPlace<&merge_attention>::run,
    .synchronize = OnPlace<&synchronize>::run,
    .wait_for_stream = OnPlace<&wait_for_stream>::run,
};

}  // namespace
}  // namespace attend::cuda

extern "C" __attribute__((visibility("default"))) const attend::plugin::Table* attend_cuda_table(
    std::uint32_t version) {
  return version == attend::plugin::kTableVersion ? &attend::cuda::kTable : nullptr;
}
