#include "cuda/attention.h"

#include <cstdlib>
#include <cstring>

#include "cuda/error.h"
#include "cuda/memory.h"

namespace attend::cuda {
namespace {

bool by_hopper(plugin::Place place, const plugin::Attention& call) {
  return !portable_only() && hopper_takes(place, call);
}

}  // namespace

bool portable_only() {
  static const bool asked = [] {
    const char* const kernel = std::getenv("ATTEND_CUDA_KERNEL");
    return kernel != nullptr && std::strcmp(kernel, "portable") == 0;
  }();
  return asked;
}

void attention_kernel(plugin::Place place, const plugin::Attention& call, const char** name, const char** why) {
  if (by_hopper(place, call)) {
    *name = "hopper";
    *why = "16-bit tensors on compute capability 9.0, by its tensor cores";
  } else {
    *name = "portable";
    *why = "plain f32 multiply-adds, which take any type, size and device";
  }
}

void attention(plugin::Place place, const plugin::Attention& call, const plugin::View& out,
               const plugin::RowState& state) {
  if (call.q.number == Number::f64)
    fail("computes f64 on the host only, and the tensors are on cuda:", place.device);
  const UploadedProblem uploaded(place, call);
  const bool packed = call.packed != 0;
  ForwardTarget target{placed(out, packed), {}, {}};
  if (state.max.data != nullptr) {
    target.max = placed(state.max, packed);
    target.sum = placed(state.sum, packed);
  }
  if (by_hopper(place, call)) {
    hopper_forward(place, call, uploaded.get(), target);
  } else {
    portable_forward(place, call, uploaded.get(), target);
  }
}

}  // namespace attend::cuda
