// Positions as sines and cosines (Vaswani et al. 2017, section 3.5).
#include <attend/positions.h>

#include <cmath>

#include "base/check.h"
#include "base/rows.h"
#include "nn/frequencies.h"
#include "nn/host_operations.h"

namespace attend {

void sinusoidal_positions(TensorView out, std::int64_t start, double base) {
  constexpr const char* kOperation = "sinusoidal_positions";
  require_floats(kOperation, {"out", out}, 2, 2);
  require_writable(kOperation, {"out", out}, {});
  const std::int64_t length = out.size(0);
  std::int64_t end = 0;
  if (__builtin_add_overflow(start, length, &end)) {
    refuse(kOperation, "start ", start, " and ", length, " positions do not fit 64 bits");
  }
  check_base(kOperation, base);
  on_device(kOperation, &Operations::sinusoidal_positions, {{"out", out}})(out, start, base);
}

void host::sinusoidal_positions(TensorView out, std::int64_t start, double base) {
  const std::int64_t length = out.size(0), d = out.size(1);
  // With an odd d the last column is a sine without its cosine.
  const std::vector<double> wavelengths = wavelengths_of(base, d, out.count() == 0 ? 0 : (d + 1) / 2);
  with_float_type("sinusoidal_positions", out.dtype(), [&]<class T>(T) {
    T* const data = out.data<T>();
    for_each_row(length, d, [&](std::int64_t row, int) noexcept {
      T* const to = data + row_offset(out, row);
      for (std::int64_t j = 0; j < d; ++j) {
        const double angle = static_cast<double>(start + row) / wavelengths[static_cast<std::size_t>(j / 2)];
        to[j * out.stride(1)] = narrow<T>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    });
  });
}

}  // namespace attend
