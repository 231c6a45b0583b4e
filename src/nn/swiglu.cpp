#include <attend/swiglu.h>

#include <array>

#include "base/check.h"
#include "kernels/isa.h"
#include "kernels/swiglu/swiglu.h"
#include "nn/host_operations.h"
#include "nn/transform_rows.h"

namespace attend {
namespace {

void gate_row(const float* gate, const float* up, std::int64_t n, float* out) noexcept {
  kernels::swiglu_row(gate, up, n, out);
}
void gate_row(const double* gate, const double* up, std::int64_t n, double* out) noexcept {
  kernels::swiglu_row_reference(gate, up, n, out);
}

void backward_row(const float* gate, const float* up, const float* d_out, std::int64_t n, float* d_gate,
                  float* d_up) noexcept {
  kernels::swiglu_row_backward(gate, up, d_out, n, d_gate, d_up);
}
void backward_row(const double* gate, const double* up, const double* d_out, std::int64_t n, double* d_gate,
                  double* d_up) noexcept {
  kernels::swiglu_row_backward_reference(gate, up, d_out, n, d_gate, d_up);
}

void check_like_gate(const char* operation, const NamedView& tensor, ConstTensorView gate) {
  require_shape(operation, tensor, gate.shape());
  require_dtype_of(operation, tensor, {"gate", gate});
}

}  // namespace

void swiglu(ConstTensorView gate, ConstTensorView up, TensorView out) {
  constexpr const char* kOperation = "swiglu";
  require_floats(kOperation, {"gate", gate}, 1, kMaxRank);
  check_like_gate(kOperation, {"up", up}, gate);
  check_like_gate(kOperation, {"out", out}, gate);
  require_writable_in_place(kOperation, {"out", out}, {"gate", gate});
  require_writable_in_place(kOperation, {"out", out}, {"up", up});
  on_device(kOperation, &Operations::swiglu, {{"gate", gate}, {"up", up}, {"out", out}})(gate, up, out);
}

void host::swiglu(ConstTensorView gate, ConstTensorView up, TensorView out) {
  kernels::require_isa();
  with_float_type("swiglu", gate.dtype(), [&]<class T>(T) {
    transform_rows<T>(std::array{gate, up}, out, [&](const auto& from, auto* to, std::int64_t) noexcept {
      gate_row(from[0], from[1], row_size(gate), to);
    });
  });
}

void swiglu_backward(ConstTensorView gate, ConstTensorView up, ConstTensorView d_out, TensorView d_gate,
                     TensorView d_up) {
  constexpr const char* kOperation = "swiglu_backward";
  require_floats(kOperation, {"gate", gate}, 1, kMaxRank);
  check_like_gate(kOperation, {"up", up}, gate);
  check_like_gate(kOperation, {"d_out", d_out}, gate);
  check_like_gate(kOperation, {"d_gate", d_gate}, gate);
  check_like_gate(kOperation, {"d_up", d_up}, gate);
  require_writable(kOperation, {"d_gate", d_gate}, {{"gate", gate}, {"up", up}, {"d_out", d_out}});
  require_writable(kOperation, {"d_up", d_up},
                   {{"gate", gate}, {"up", up}, {"d_out", d_out}, {"d_gate", d_gate}});
  on_device(kOperation, &Operations::swiglu_backward,
            {{"gate", gate}, {"up", up}, {"d_out", d_out}, {"d_gate", d_gate}, {"d_up", d_up}})(
      gate, up, d_out, d_gate, d_up);
}

void host::swiglu_backward(ConstTensorView gate, ConstTensorView up, ConstTensorView d_out, TensorView d_gate,
                           TensorView d_up) {
  kernels::require_isa();
  const std::int64_t n = row_size(gate);
  with_float_type("swiglu_backward", gate.dtype(), [&]<class T>(T) {
    using Number = Computed<T>;
    const int lanes = RowChunks(row_count(gate), n).lanes();
    std::vector<Number> room(static_cast<std::size_t>(lanes) * 5 * static_cast<std::size_t>(n));
    const RowChunks chunks(row_count(gate), n);
    if (n == 0) return;
    for_each_row(chunks, lanes, [&](std::int64_t row, int lane) noexcept {
      Number* const rows = room.data() + lane * 5 * n;
      const auto read = [&](ConstTensorView view, int place) {
        const T* const from = static_cast<const T*>(view.raw()) + row_offset(view, row);
        if constexpr (std::is_same_v<T, Number>) {
          if (row_stride(view) == 1) return from;
        }
        copy_row(from, row_stride(view), n, rows + place * n, 1);
        return static_cast<const Number*>(rows + place * n);
      };
      const auto write = [&](int place, TensorView view) {
        copy_row(rows + place * n, 1, n, static_cast<T*>(view.raw()) + row_offset(view, row),
                 row_stride(view));
      };
      backward_row(read(gate, 0), read(up, 1), read(d_out, 2), n, rows + 3 * n, rows + 4 * n);
      write(3, d_gate);
      write(4, d_up);
    });
  });
}

}  // namespace attend
