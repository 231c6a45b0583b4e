#include <attend/dropout.h>

#include <array>

#include "base/check.h"
#include "kernels/dropout/dropout.h"
#include "kernels/isa.h"
#include "nn/host_operations.h"
#include "nn/transform_rows.h"

namespace attend {

void dropout(ConstTensorView x, const Dropout& dropout, TensorView out) {
  constexpr const char* kOperation = "dropout";
  require_floats(kOperation, {"x", x}, 1, kMaxRank);
  require_shape(kOperation, {"out", out}, x.shape());
  require_dtype_of(kOperation, {"out", out}, {"x", x});
  require_writable_in_place(kOperation, {"out", out}, {"x", x});
  if (!(dropout.probability >= 0 && dropout.probability < 1)) {
    refuse(kOperation, "the probability is ", dropout.probability, ", expected one from 0 to below 1");
  }
  on_device(kOperation, &Operations::dropout, {{"x", x}, {"out", out}})(x, dropout, out);
}

void host::dropout(ConstTensorView x, const Dropout& dropout, TensorView out) {
  kernels::require_isa();
  const DropoutStream stream(dropout.probability, dropout.seed, dropout.stream, 0);
  with_float_type("dropout", x.dtype(), [&]<class T>(T) {
    const auto factor = static_cast<Computed<T>>(1 / (1 - dropout.probability));
    transform_rows<T>(std::array{x}, out, [&](const auto& from, auto* to, std::int64_t row) noexcept {
      kernels::dropout_row(stream, row, from[0], row_size(x), factor, to);
    });
  });
}

}  // namespace attend
