#include "cuda/attention.h"

#include <cstdlib>
#include <string_view>

#include "cuda/decode_plan.h"
#include "cuda/error.h"
#include "cuda/memory.h"

namespace attend::cuda {
namespace {

// To compare, or to go around a fault: ATTEND_CUDA_KERNEL=portable has the portable kernel compute everything,
// =hopper leaves out only the cutting of keys.
std::string_view asked_kernel() {
  static const std::string_view asked = [] {
    const char* const text = std::getenv("ATTEND_CUDA_KERNEL");
    return text == nullptr ? std::string_view() : std::string_view(text);
  }();
  return asked;
}

bool by_hopper(plugin::Place place, const plugin::Attention& call) {
  return !portable_only() && hopper_takes(place, call);
}

// How many sequences are decoded, and how many are not. A sequence's own number of queries decides.
struct Share {
  std::int64_t decoded = 0, others = 0;
};

Share share_of(plugin::Place place, const plugin::Attention& call) {
  const bool decodes = asked_kernel().empty() && decode_takes(place, call);
  Share share;
  for (std::int64_t s = 0; s < call.sequence_count; ++s) {
    const std::int64_t queries = call.sequences[s].queries;
    if (queries == 0) continue;
    ++(decodes && queries <= kMostDecodedQueries ? share.decoded : share.others);
  }
  return share;
}

}  // namespace

bool portable_only() { return asked_kernel() == "portable"; }

void attention_kernel(plugin::Place place, const plugin::Attention& call, const char** name, const char** why) {
  const Share share = share_of(place, call);
  const bool hopper = by_hopper(place, call);
  if (share.decoded != 0 && share.others != 0) {
    *name = hopper ? "decode and hopper" : "decode and portable";
    *why = "each sequence by its own number of queries: decode up to 8, the other kernel beyond";
  } else if (share.decoded != 0) {
    *name = "decode";
    *why = "up to 8 queries of 16 bits on compute capability 9.0, the keys cut into pieces";
  } else if (hopper) {
    *name = "hopper";
    *why = "16-bit tensors on compute capability 9.0, by its tensor cores";
  } else {
    *name = "portable";
    *why = "plain f32 multiply-adds, which take any type, size and device";
  }
}
static_assert(kMostDecodedQueries == 8, "as attention_kernel() says");

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
  Share share = share_of(place, call);
  // The copy engine knows no empty tensors; rows without keys or values are the portable kernel's.
  if (call.k.data == nullptr || call.v.data == nullptr) share = {0, 1};
  Problem problem = uploaded.get();
  if (share.decoded != 0) {
    decode_forward(place, call, problem, target);
    problem.few = kMostDecodedQueries;
  }
  if (share.others == 0) return;
  if (by_hopper(place, call)) {
    hopper_forward(place, call, problem, target);
  } else {
    portable_forward(place, call, problem, target);
  }
}

}  // namespace attend::cuda
