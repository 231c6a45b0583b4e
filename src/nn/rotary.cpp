// Rotary positions (Su et al. 2021): pairs of elements rotate, so that q.k depends on the distance alone.
#include <attend/positions.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rows.h"
#include "nn/frequencies.h"
#include "nn/host_operations.h"

namespace attend {
namespace {

using detail::rotated_dimensions;

// The cosine and sine of each pair, f64, (..., L, pairs).
struct Rotations {
  explicit Rotations(const Dims& shape) : cosines(DType::f64, shape), sines(DType::f64, shape) {}
  Rotations(ConstTensorView given_cosines, ConstTensorView given_sines)
      : cosines(copy_of(given_cosines, DType::f64)), sines(copy_of(given_sines, DType::f64)) {}
  Tensor cosines, sines;
};

Rotations rotations_of(std::span<const std::int64_t> positions, const std::vector<double>& wavelengths,
                       double magnitude) {
  const auto rows = static_cast<std::int64_t>(positions.size());
  const auto pairs = static_cast<std::int64_t>(wavelengths.size());
  Rotations rotations({rows, pairs});
  double* const cosines = rotations.cosines.values<double>().data();
  double* const sines = rotations.sines.values<double>().data();
  for_each_row(rows, pairs, [&](std::int64_t row, int) noexcept {
    const auto position = static_cast<double>(positions[static_cast<std::size_t>(row)]);
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double angle = position / wavelengths[static_cast<std::size_t>(i)];
      cosines[row * pairs + i] = magnitude * std::cos(angle);
      sines[row * pairs + i] = magnitude * std::sin(angle);
    }
  });
  return rotations;
}

// The strides by which a row-major table is walked as the rows of x are: 0 where it has one row for many.
Dims strides_beside(const Dims& x, const Dims& table) {
  const Dims own = row_major_strides(table);
  Dims strides = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int from = axis - (x.rank() - table.rank());
    strides[axis] = from < 0 || table[from] == 1 ? 0 : own[from];
  }
  return strides;
}

// Rotates the first 2 pairs elements of every row of x, and copies the others.
void rotate_rows(const char* operation, ConstTensorView x, const Rotations& rotations, RotaryPairing pairing,
                 TensorView out, bool inverse) {
  const std::int64_t d = row_size(x), pairs = row_size(rotations.cosines);
  const bool halves = pairing == RotaryPairing::halves;
  const std::int64_t first_step = halves ? 1 : 2, second = halves ? pairs : 1;
  const double sign = inverse ? -1 : 1;
  const double* const all_cosines = rotations.cosines.values<double>().data();
  const double* const all_sines = rotations.sines.values<double>().data();
  Dims shape = x.shape();
  shape[shape.rank() - 1] = pairs;
  const ConstTensorView table(all_cosines, shape, strides_beside(x.shape(), rotations.cosines.shape()));
  with_float_type(operation, x.dtype(), [&]<class T>(T) {
    const T* const x_data = x.data<T>();
    T* const out_data = out.data<T>();
    const std::int64_t x_step = row_stride(x), out_step = row_stride(out);
    for_each_row(row_count(x), d, [&](std::int64_t row, int) noexcept {
      const T* const from = x_data + row_offset(x, row);
      T* const to = out_data + row_offset(out, row);
      const std::int64_t start =
          pairs == 0 ? 0 : row_offset(table, row);  // tables without numbers may have no memory
      const double *const cosines = all_cosines + start, *const sines = all_sines + start;
      for (std::int64_t i = 0; i < pairs; ++i) {
        const std::int64_t a = i * first_step, b = a + second;
        const double u = widen(from[a * x_step]), v = widen(from[b * x_step]), sine = sign * sines[i];
        to[a * out_step] = narrow<T>(u * cosines[i] - v * sine);
        to[b * out_step] = narrow<T>(u * sine + v * cosines[i]);
      }
      for (std::int64_t j = 2 * pairs; j < d; ++j) to[j * out_step] = from[j * x_step];
    });
  });
}

void check_rotary(const char* operation, ConstTensorView x, TensorView out) {
  require_floats(operation, {"x", x}, 2, kMaxRank);
  require_shape(operation, {"out", out}, x.shape());
  require_dtype_of(operation, {"out", out}, {"x", x});
}

void check_table(const char* operation, ConstTensorView x, ConstTensorView table) {
  require_floats(operation, {"cosines", table}, 1, x.rank());
  const int added = x.rank() - table.rank();
  for (int axis = 0; axis < table.rank() - 1; ++axis) {
    if (table.size(axis) == 1 || table.size(axis) == x.size(axis + added)) continue;
    refuse(operation, "cosines has shape ", to_string(table.shape()),
           ", which does not broadcast to the rows of x, ", to_string(x.shape()));
  }
  if (2 * row_size(table) > row_size(x)) {
    refuse(operation, "cosines has ", row_size(table), " pairs for vectors of ", row_size(x));
  }
}

}  // namespace

void apply_rotary(ConstTensorView x, std::span<const std::int64_t> positions, const Rotary& rotary,
                  TensorView out, bool inverse) {
  constexpr const char* kOperation = "apply_rotary";
  check_rotary(kOperation, x, out);
  const std::int64_t length = x.size(x.rank() - 2);
  if (static_cast<std::int64_t>(positions.size()) != length) {
    refuse(kOperation, "got ", positions.size(), " positions for ", length, " rows");
  }
  rotated_dimensions(kOperation, rotary, row_size(x));
  require_writable_in_place(kOperation, {"out", out}, {"x", x});
  on_device(kOperation, &Operations::rotary, {{"x", x}, {"out", out}})(x, positions, rotary, out, inverse);
}

void host::rotary(ConstTensorView x, std::span<const std::int64_t> positions, const Rotary& rotary,
                  TensorView out, bool inverse) {
  const auto last = std::max_element(positions.begin(), positions.end());
  const std::vector<double> wavelengths =
      rotary_wavelengths(rotary, row_size(x), last == positions.end() ? 0 : *last + 1);
  rotate_rows("apply_rotary", x, rotations_of(positions, wavelengths, rotary.magnitude), rotary.pairing, out,
              inverse);
}

void apply_rotary_tables(ConstTensorView x, ConstTensorView cosines, ConstTensorView sines,
                         RotaryPairing pairing, TensorView out, bool inverse) {
  constexpr const char* kOperation = "apply_rotary_tables";
  check_rotary(kOperation, x, out);
  check_table(kOperation, x, cosines);
  require_shape(kOperation, {"sines", sines}, cosines.shape());
  require_writable_in_place(kOperation, {"out", out}, {"x", x});
  require_writable(kOperation, {"out", out}, {{"cosines", cosines}, {"sines", sines}});
  on_device(kOperation, &Operations::rotary_tables,
            {{"x", x}, {"cosines", cosines}, {"sines", sines}, {"out", out}})(x, cosines, sines, pairing, out,
                                                                              inverse);
}

void host::rotary_tables(ConstTensorView x, ConstTensorView cosines, ConstTensorView sines,
                         RotaryPairing pairing, TensorView out, bool inverse) {
  rotate_rows("apply_rotary_tables", x, Rotations(cosines, sines), pairing, out, inverse);
}

}  // namespace attend
