#include <attend/add.h>

#include <array>

#include "base/check.h"
#include "kernels/isa.h"
#include "nn/host_operations.h"
#include "nn/transform_rows.h"

namespace attend {

void add(ConstTensorView a, ConstTensorView b, TensorView out) {
  constexpr const char* kOperation = "add";
  require_floats(kOperation, {"a", a}, 1, kMaxRank);
  for (const NamedView& other : {NamedView{"b", b}, {"out", out}}) {
    require_shape(kOperation, other, a.shape());
    require_dtype_of(kOperation, other, {"a", a});
  }
  require_writable_in_place(kOperation, {"out", out}, {"a", a});
  require_writable_in_place(kOperation, {"out", out}, {"b", b});
  on_device(kOperation, &Operations::add, {{"a", a}, {"b", b}, {"out", out}})(a, b, out);
}

void host::add(ConstTensorView a, ConstTensorView b, TensorView out) {
  kernels::require_isa();  // rows of 16-bit numbers are converted by it
  with_float_type("add", a.dtype(), [&]<class T>(T) {
    transform_rows<T>(std::array{a, b}, out, [&](const auto& from, auto* to, std::int64_t) noexcept {
      for (std::int64_t j = 0; j < row_size(a); ++j) to[j] = from[0][j] + from[1][j];
    });
  });
}

}  // namespace attend
