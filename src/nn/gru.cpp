#include "nn/gru.h"

#include <attend/matmul.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/operations.h"
#include "base/rows.h"
#include "kernels/gru/gru.h"
#include "kernels/isa.h"
#include "nn/linear_gradient.h"

namespace attend::detail {
namespace {

struct Sizes {
  std::int64_t sequences, length, in, width;
};

Sizes check(const char* operation, ConstTensorView x, const GruWeights& weights, const GruTrace& trace,
            const NamedView& states, const GruRoom& room) {
  require_floats(operation, {"x", x}, 3, 3);
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64) {
    refuse(operation, "x is ", name_of(x.dtype()), ", expected f32 or f64");
  }
  const Sizes size{x.size(0), x.size(1), x.size(2),
                   states.view.rank() == 3 ? states.view.size(2) : std::int64_t{0}};
  const std::int64_t b = size.sequences, t = size.length, e = size.width;
  const auto require = [&](const NamedView& tensor, const Dims& shape) {
    require_shape(operation, tensor, shape);
    require_dtype_of(operation, tensor, {"x", x});
    if (tensor.view.strides() != row_major_strides(shape))
      refuse(operation, tensor.name, " is not contiguous");
  };
  require_host(operation, {{"x", x}, {states.name, states.view}});
  require({"x", x}, {b, t, size.in});
  require(states, {b, t, e});
  require({"input", weights.input}, {size.in, 3 * e});
  require({"state", weights.state}, {e, 3 * e});
  require({"input_bias", weights.input_bias}, {3 * e});
  require({"state_bias", weights.state_bias}, {3 * e});
  require({"gates", trace.gates}, {b, t, 3 * e});
  require({"past_term", trace.past_term}, {b, t, e});
  require({"before", trace.before}, {b, t, e});
  require({"step", room.step}, {b, 3 * e});
  return size;
}

// (B, T, n) as rows, (B T, n)
template <class View>
View as_rows(View view) {
  const Dims shape{view.size(0) * view.size(1), view.size(2)};
  return view.with_layout(shape, row_major_strides(shape));
}

// A right-hand matrix that is multiplied by many times: packed once, into the room.
class Factor {
 public:
  Factor(ConstTensorView w, const GruRoom& room) : w_(w) {
    if (w.dtype() == DType::f64) return;
    packed_.emplace(w, room.packed, room.as);
  }
  void product(ConstTensorView a, TensorView out, const MatmulEpilogue& epilogue) const {
    packed_ ? matmul(a, *packed_, out, epilogue) : matmul(a, w_, out, epilogue);
  }

 private:
  ConstTensorView w_;
  std::optional<PackedMatrix> packed_;
};

template <class T>
void take_step(const Sizes& size, std::int64_t t, const GruTrace& trace, TensorView out,
               const GruRoom& room) {
  const std::int64_t e = size.width, length = size.length;
  T* const states = out.data<T>();
  T* const before = trace.before.data<T>();
  for_each_row(size.sequences, 3 * e, [&](std::int64_t b, int) noexcept {
    const std::int64_t row = b * length + t;
    kernels::gru_step(kernels::GruStep<T>{.width = e,
                                          .gates = trace.gates.data<T>() + row * 3 * e,
                                          .past = room.step.data<T>() + b * 3 * e,
                                          .past_term = trace.past_term.data<T>() + row * e,
                                          .before = before + row * e,
                                          .state = states + row * e});
    if (t + 1 < length) std::copy_n(states + row * e, e, before + (row + 1) * e);
  });
}

template <class T>
void take_step_back(const Sizes& size, std::int64_t t, const GruTrace& trace, ConstTensorView d_out,
                    const GruRoom& room) {
  const std::int64_t e = size.width;
  for_each_row(size.sequences, 3 * e, [&](std::int64_t b, int) noexcept {
    const std::int64_t row = b * size.length + t;
    kernels::gru_step_back(kernels::GruStepBack<T>{.width = e,
                                                   .gates = trace.gates.data<T>() + row * 3 * e,
                                                   .past_term = trace.past_term.data<T>() + row * e,
                                                   .before = trace.before.data<T>() + row * e,
                                                   .d_state = d_out.data<T>() + row * e,
                                                   .carried = room.carried.data<T>() + b * e,
                                                   .d_past = room.d_past.data<T>() + row * 3 * e});
  });
}

void clear(TensorView view) {
  for_each_row(row_count(view), row_size(view), [&](std::int64_t row, int) noexcept {
    const auto bytes = static_cast<std::size_t>(row_size(view)) * size_of(view.dtype());
    std::fill_n(static_cast<char*>(row_view(view, row).raw()), bytes, char{0});
  });
}

}  // namespace

std::int64_t gru_packed_room(std::int64_t in, std::int64_t width) {
  std::int64_t most = 0;
  for (const std::int64_t from : {in, width}) {
    most = std::max(
        {most, PackedMatrix::bytes_needed(from, 3 * width), PackedMatrix::bytes_needed(3 * width, from)});
  }
  return most / static_cast<std::int64_t>(sizeof(float));
}

void gru(ConstTensorView x, const GruWeights& weights, const GruTrace& trace, TensorView out,
         const GruRoom& room) {
  const Sizes size = check("gru", x, weights, trace, {"out", out}, room);
  if (out.count() == 0) return;
  kernels::require_isa();
  Factor(weights.input, room).product(as_rows(x), as_rows(trace.gates), {.bias = weights.input_bias});
  clear(trace.before.slice(1, 0, 1));
  const Factor state(weights.state, room);
  for (std::int64_t t = 0; t < size.length; ++t) {
    state.product(trace.before.select(1, t), room.step, {.bias = weights.state_bias});
    x.dtype() == DType::f32 ? take_step<float>(size, t, trace, out, room)
                            : take_step<double>(size, t, trace, out, room);
  }
}

void gru_backward(ConstTensorView x, const GruWeights& weights, const GruTrace& trace, ConstTensorView d_out,
                  const GruGradients& gradients, TensorView d_x, const GruRoom& room) {
  constexpr const char* kOperation = "gru_backward";
  const Sizes size = check(kOperation, x, weights, trace, {"d_out", d_out}, room);
  require_shape(kOperation, {"carried", room.carried}, {size.sequences, size.width});
  require_shape(kOperation, {"d_past", room.d_past}, {size.sequences, size.length, 3 * size.width});
  if (d_x.given()) require_shape(kOperation, {"d_x", d_x}, x.shape());
  if (d_out.count() == 0) return;
  kernels::require_isa();
  clear(room.carried);
  {
    const Factor transposed(weights.state.transposed(0, 1), room);
    for (std::int64_t t = size.length; t-- > 0;) {
      x.dtype() == DType::f32 ? take_step_back<float>(size, t, trace, d_out, room)
                              : take_step_back<double>(size, t, trace, d_out, room);
      // What is before the first step is 0, and nobody asks for its gradient.
      if (t > 0) transposed.product(room.d_past.select(1, t), room.carried, {.residual = room.carried});
    }
  }
  const ConstTensorView d_gates = as_rows(trace.gates), d_past = as_rows(room.d_past);
  add_linear_gradient(as_rows(trace.before), d_past, gradients.state, gradients.state_bias, room.gradient,
                      room.as);
  add_linear_gradient(as_rows(x), d_gates, gradients.input, gradients.input_bias, room.gradient, room.as);
  if (!d_x.given()) return;
  Factor(weights.input.transposed(0, 1), room).product(d_gates, as_rows(d_x), {});
}

}  // namespace attend::detail
