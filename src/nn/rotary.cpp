// Rotary positions (Su et al. 2021): pairs of elements turn, so that q.k depends on the distance alone.
#include <attend/positions.h>

#include <cmath>

#include "base/check.h"
#include "base/rows.h"
#include "nn/frequencies.h"

namespace attend {
namespace {

constexpr const char* kOperation = "apply_rotary";

std::int64_t turning_dimensions(const Rotary& rotary, std::int64_t d) {
  const std::int64_t r = rotary.dimensions == 0 ? d : rotary.dimensions;
  if (r < 0 || r > d) refuse(kOperation, "cannot turn ", r, " dimensions of vectors of ", d);
  if (r % 2 != 0) refuse(kOperation, "cannot turn ", r, " dimensions in pairs: the number is odd");
  return r;
}

// Cosine and sine of pair i at the position of row p: [p * pairs + i].
struct Turn {
  double cosine, sine;
};

std::vector<Turn> turns_of(std::span<const std::int64_t> positions, const std::vector<double>& wavelengths,
                           bool inverse) {
  const auto pairs = static_cast<std::int64_t>(wavelengths.size());
  std::vector<Turn> turns(positions.size() * wavelengths.size());
  for_each_row(static_cast<std::int64_t>(positions.size()), pairs, [&](std::int64_t row, int) noexcept {
    const auto position = static_cast<double>(positions[static_cast<std::size_t>(row)]);
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double angle = position / wavelengths[static_cast<std::size_t>(i)];
      const double sine = std::sin(angle);
      turns[static_cast<std::size_t>(row * pairs + i)] = {std::cos(angle), inverse ? -sine : sine};
    }
  });
  return turns;
}

}  // namespace

void apply_rotary(ConstTensorView x, std::span<const std::int64_t> positions, const Rotary& rotary,
                  TensorView out, bool inverse) {
  require_floats(kOperation, {"x", x}, 2, kMaxRank);
  require_shape(kOperation, {"out", out}, x.shape());
  require_dtype_of(kOperation, {"out", out}, {"x", x});
  const std::int64_t length = x.size(x.rank() - 2), d = row_size(x);
  if (static_cast<std::int64_t>(positions.size()) != length) {
    refuse(kOperation, "got ", positions.size(), " positions for ", length, " rows");
  }
  const std::int64_t r = turning_dimensions(rotary, d), pairs = r / 2;
  const std::vector<double> wavelengths = wavelengths_of(kOperation, rotary.base, r, pairs);
  require_writable_in_place(kOperation, {"out", out}, {"x", x});

  const std::vector<Turn> turns = turns_of(positions, wavelengths, inverse);
  const bool halves = rotary.pairing == RotaryPairing::halves;
  const std::int64_t first_step = halves ? 1 : 2, second = halves ? pairs : 1;
  with_float_type(kOperation, x.dtype(), [&]<class T>(T) {
    const T* const x_data = x.data<T>();
    T* const out_data = out.data<T>();
    const std::int64_t x_step = row_stride(x), out_step = row_stride(out);
    for_each_row(row_count(x), d, [&](std::int64_t row, int) noexcept {
      const T* const from = x_data + row_offset(x, row);
      T* const to = out_data + row_offset(out, row);
      const Turn* const turn = turns.data() + row % length * pairs;
      for (std::int64_t i = 0; i < pairs; ++i) {
        const std::int64_t a = i * first_step, b = a + second;
        const double u = widen(from[a * x_step]), v = widen(from[b * x_step]);
        to[a * out_step] = narrow<T>(u * turn[i].cosine - v * turn[i].sine);
        to[b * out_step] = narrow<T>(u * turn[i].sine + v * turn[i].cosine);
      }
      for (std::int64_t j = r; j < d; ++j) to[j * out_step] = from[j * x_step];
    });
  });
}

}  // namespace attend
