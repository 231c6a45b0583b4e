#include "cuda/backward.h"

#include <cstdlib>
#include <cstring>

#include "cuda/error.h"

namespace attend::cuda {
namespace {

Placed placed_if_given(const plugin::View& view, bool packed) {
  return view.data == nullptr ? Placed{} : placed(view, packed);
}

PerHeadTarget per_head(const plugin::View& view) {
  return {static_cast<char*>(view.data), view.number, view.strides[0]};
}

// Four arrays of floats, one number for each row, rows side by side whatever the strides of the query are.
class RowTermsMemory {
 public:
  RowTermsMemory(plugin::Place place, const plugin::Attention& call) {
    const bool packed = call.packed != 0;
    const std::int64_t rows = packed ? call.q.shape[0] : call.q.shape[2];
    const std::int64_t count = rows * call.query_heads * (packed ? 1 : call.sequence_count);
    memory_ = Scratch(place, static_cast<std::size_t>(count) * 4 * sizeof(float));
    float* const data = memory_.data<float>();
    rows_ = {data, data + count, data + 2 * count, data + 3 * count, packed ? 0 : rows * call.query_heads, rows};
  }
  const RowTerms& get() const { return rows_; }

 private:
  Scratch memory_;
  RowTerms rows_;
};

// As in attention.cu: ATTEND_CUDA_KERNEL=portable.
bool only_portable() {
  static const bool asked = [] {
    const char* const value = std::getenv("ATTEND_CUDA_KERNEL");
    return value != nullptr && std::strcmp(value, "portable") == 0;
  }();
  return asked;
}

}  // namespace

void attention_backward(plugin::Place place, const plugin::Attention& call, const plugin::View& out,
                        const plugin::RowState& state, const plugin::View& d_out,
                        const plugin::Gradients& gradients) {
  if (call.q.number == Number::f64)
    fail("computes f64 on the host only, and the tensors are on cuda:", place.device);
  const UploadedProblem uploaded(place, call);
  const RowTermsMemory rows(place, call);
  const bool packed = call.packed != 0;
  const BackwardProblem backward{uploaded.get(),
                                 placed_if_given(out, packed),
                                 placed_if_given(d_out, packed),
                                 rows.get(),
                                 placed_if_given(gradients.q, packed),
                                 placed_if_given(gradients.k, packed),
                                 placed_if_given(gradients.v, packed)};
  if (call.sequence_count * call.query_heads * call.longest_queries > 0)
    make_row_terms(place, call, backward, placed(state.max, packed), placed(state.sum, packed));
  if (!only_portable() && hopper_takes_backward(place, call, d_out)) {
    hopper_backward(place, call, d_out, backward);
  } else {
    portable_backward(place, call, backward, per_head(gradients.alibi_slopes));
  }
  if (gradients.bias.data != nullptr) bias_gradient(place, call, backward, gradients.bias);
  if (gradients.sinks.data != nullptr) sink_gradient(place, call, backward, per_head(gradients.sinks));
}

}  // namespace attend::cuda
