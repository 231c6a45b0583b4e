#include <attend/cross_entropy.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/scratch.h"
#include "kernels/isa.h"
#include "kernels/softmax/softmax.h"
#include "kernels/softmax/softmax_reference.h"
#include "nn/host_operations.h"
#include "nn/transform_rows.h"

namespace attend {
namespace {

// softmax(x) to out; log(sum of exp x).
double log_sum(const float* x, std::int64_t n, float* out) noexcept {
  const kernels::SoftmaxSums sums = kernels::softmax_row(x, n, out);
  return static_cast<double>(sums.max) + std::log(sums.sum);
}
double log_sum(const double* x, std::int64_t n, double* out) noexcept {
  const double max = *std::max_element(x, x + n);
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - max);
  kernels::softmax_row_reference(x, n, out);
  return max + std::log(sum);
}

struct RowLoss {
  double loss = 0;
  bool right = false;
};

// d may be x.
template <class Number>
RowLoss one_row(const Number* x, std::int64_t n, std::int32_t target, double weight, Number* d) noexcept {
  if (target == kNoTarget) {
    std::fill_n(d, n, Number(0));
    return {};
  }
  const auto wanted = static_cast<double>(x[target]);
  const bool right = std::max_element(x, x + n) - x == target;
  const double loss = log_sum(x, n, d) - wanted;
  const auto factor = static_cast<Number>(weight);
  d[target] -= 1;
  for (std::int64_t i = 0; i < n; ++i) d[i] *= factor;
  return {loss, right};
}

}  // namespace

CrossEntropy cross_entropy(ConstTensorView logits, std::span<const std::int32_t> targets, double weight,
                           TensorView d_logits) {
  constexpr const char* kOperation = "cross_entropy";
  require_floats(kOperation, {"logits", logits}, 2, 2);
  const std::int64_t rows = logits.size(0), n = logits.size(1);
  if (static_cast<std::int64_t>(targets.size()) != rows) {
    refuse(kOperation, "got ", targets.size(), " targets for ", rows, " rows");
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] != kNoTarget && (targets[i] < 0 || targets[i] >= n)) {
      refuse(kOperation, "target ", targets[i], " of row ", i, " is outside the ", n, " logits");
    }
  }
  if (logits.dtype() != DType::f32 && logits.dtype() != DType::f64) {
    refuse(kOperation, "logits is ", name_of(logits.dtype()), ", expected f32 or f64");
  }
  if (d_logits.given()) {
    require_shape(kOperation, {"d_logits", d_logits}, logits.shape());
    require_dtype_of(kOperation, {"d_logits", d_logits}, {"logits", logits});
    require_writable_in_place(kOperation, {"d_logits", d_logits}, {"logits", logits});
  }
  return on_device(kOperation, &Operations::cross_entropy, {{"logits", logits}, {"d_logits", d_logits}})(
      logits, targets, weight, d_logits);
}

CrossEntropy host::cross_entropy(ConstTensorView logits, std::span<const std::int32_t> targets, double weight,
                                 TensorView d_logits) {
  const std::int64_t rows = logits.size(0), n = logits.size(1);
  kernels::require_isa();
  std::vector<RowLoss> losses(targets.size());
  const auto run = [&]<class T>(T) {
    if (d_logits.given()) {
      transform_rows<T>(std::array{logits}, d_logits,
                        [&](const auto& from, auto* to, std::int64_t row) noexcept {
                          const auto i = static_cast<std::size_t>(row);
                          losses[i] = one_row(from[0], n, targets[i], weight, to);
                        });
      return;
    }
    const RowChunks chunks(rows, n);
    const int lanes = lanes_for(chunks.count());
    const LaneScratch<T> room(lanes, 2 * n);
    for_each_row(chunks, lanes, [&](std::int64_t row, int lane) noexcept {
      const auto i = static_cast<std::size_t>(row);
      T* const x = room.of(lane);
      copy_row(static_cast<const T*>(logits.raw()) + row_offset(logits, row), row_stride(logits), n, x, 1);
      losses[i] = one_row(x, n, targets[i], weight, x + n);
    });
  };
  logits.dtype() == DType::f32 ? run(float{}) : run(double{});

  CrossEntropy result;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == kNoTarget) continue;
    result.loss += losses[i].loss;
    result.counted += 1;
    result.right += losses[i].right ? 1 : 0;
  }
  return result;
}

}  // namespace attend
