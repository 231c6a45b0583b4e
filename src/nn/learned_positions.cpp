// A learned vector for each position, added to the token's.
#include <attend/positions.h>
#include <attend/reference.h>

#include "base/check.h"
#include "base/rows.h"
#include "nn/host_operations.h"

namespace attend {
namespace {

void require_positions(const char* operation, std::span<const std::int64_t> positions, std::int64_t length,
                       std::int64_t table_size) {
  if (static_cast<std::int64_t>(positions.size()) != length) {
    refuse(operation, "got ", positions.size(), " positions for ", length, " rows");
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < 0 || positions[i] >= table_size) {
      refuse(operation, "position ", positions[i], " of row ", i, " is outside the table of ", table_size);
    }
  }
}

}  // namespace

void add_learned_positions(ConstTensorView x, ConstTensorView table, std::span<const std::int64_t> positions,
                           TensorView out) {
  constexpr const char* kOperation = "add_learned_positions";
  require_floats(kOperation, {"x", x}, 2, 2);
  require_floats(kOperation, {"table", table}, 2, 2);
  require_shape(kOperation, {"table", table}, {table.size(0), x.size(1)});
  require_shape(kOperation, {"out", out}, x.shape());
  require_dtype_of(kOperation, {"table", table}, {"x", x});
  require_dtype_of(kOperation, {"out", out}, {"x", x});
  require_positions(kOperation, positions, x.size(0), table.size(0));
  require_writable_in_place(kOperation, {"out", out}, {"x", x});
  require_writable(kOperation, {"out", out}, {{"table", table}});
  on_device(kOperation, &Operations::add_learned_positions, {{"x", x}, {"table", table}, {"out", out}})(
      x, table, positions, out);
}

void host::add_learned_positions(ConstTensorView x, ConstTensorView table,
                                 std::span<const std::int64_t> positions, TensorView out) {
  with_float_type("add_learned_positions", x.dtype(), [&]<class T>(T) {
    const T* const x_data = x.data<T>();
    const T* const table_data = table.data<T>();
    T* const out_data = out.data<T>();
    for_each_row(x.size(0), x.size(1), [&](std::int64_t row, int) noexcept {
      const T* const from = x_data + row * x.stride(0);
      const T* const added = table_data + positions[static_cast<std::size_t>(row)] * table.stride(0);
      T* const to = out_data + row * out.stride(0);
      for (std::int64_t j = 0; j < x.size(1); ++j) {
        // The sum of two f32 rounded from f64 is the f32 sum, so one line serves all types.
        to[j * out.stride(1)] = narrow<T>(widen(from[j * x.stride(1)]) + widen(added[j * table.stride(1)]));
      }
    });
  });
}

void reference::learned_positions_backward(ConstTensorView d_out, std::span<const std::int64_t> positions,
                                           TensorView d_table) {
  constexpr const char* kOperation = "learned_positions_backward";
  require_floats(kOperation, {"d_out", d_out}, 2, 2);
  require_floats(kOperation, {"d_table", d_table}, 2, 2);
  require_shape(kOperation, {"d_table", d_table}, {d_table.size(0), d_out.size(1)});
  require_positions(kOperation, positions, d_out.size(0), d_table.size(0));
  require_writable(kOperation, {"d_table", d_table}, {{"d_out", d_out}});
  require_host(kOperation, {{"d_out", d_out}, {"d_table", d_table}});
  const std::int64_t d = d_out.size(1);
  const Tensor given = copy_of(d_out, DType::f64);
  Tensor sums(DType::f64, d_table.shape());
  for (std::int64_t row = 0; row < d_out.size(0); ++row) {
    const double* const from = given.view().data<double>() + row * d;
    double* const to = sums.view().data<double>() + positions[static_cast<std::size_t>(row)] * d;
    for (std::int64_t j = 0; j < d; ++j) to[j] += from[j];
  }
  copy(sums, d_table);
}

}  // namespace attend
