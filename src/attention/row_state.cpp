// What can be made of row states without looking at queries and keys again.
#include <attend/attention.h>

#include <algorithm>

#include "attention/host_operations.h"
#include "base/error.h"
#include "base/for_each.h"
#include "base/rows.h"
#include "kernels/attention/row_state.h"

namespace attend {
namespace {

void check_state(const char* operation, const char* name, ConstRowStateView state, const Dims& shape) {
  for (const ConstTensorView& part : {state.max, state.sum}) {
    require_shape(operation, {name, part}, shape);
    require_dtype_of(operation, {name, part}, {name, state.max});
  }
}

template <Element T>
kernels::RowNumbers numbers_at(ConstRowStateView state, const Dims& index) {
  return {widen(state.max.data<T>()[offset_of(state.max.strides(), index)]),
          widen(state.sum.data<T>()[offset_of(state.sum.strides(), index)])};
}

// The index of row number `row` of a shape, in row-major order.
Dims index_of(std::int64_t row, const Dims& shape) noexcept {
  Dims index = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = row % shape[axis];
    row /= shape[axis];
  }
  return index;
}

template <Element T, Element State>
void merge_rows(ConstTensorView out_a, ConstRowStateView state_a, ConstTensorView out_b,
                ConstRowStateView state_b, TensorView out, RowStateView row_state) {
  const int last = out.rank() - 1;
  const Dims& rows = row_state.max.shape();
  // Rows without values still have a state.
  for_each_row(element_count(rows), std::max<std::int64_t>(1, out.size(last)),
               [&](std::int64_t row, int) noexcept {
                 const Dims index = index_of(row, rows);
                 const kernels::Merge merged =
                     kernels::merge(numbers_at<State>(state_a, index), numbers_at<State>(state_b, index));
                 const T* const a = out_a.data<T>() + offset_of(out_a.strides(), index);
                 const T* const b = out_b.data<T>() + offset_of(out_b.strides(), index);
                 T* const target = out.data<T>() + offset_of(out.strides(), index);
                 for (std::int64_t c = 0; c < out.size(last); ++c) {
                   // A part without a share is left out, so that whatever its rows hold cannot matter.
                   double value = 0;
                   if (merged.share_a != 0) value += merged.share_a * widen(a[c * out_a.stride(last)]);
                   if (merged.share_b != 0) value += merged.share_b * widen(b[c * out_b.stride(last)]);
                   target[c * out.stride(last)] = narrow<T>(value);
                 }
                 row_state.max.data<State>()[offset_of(row_state.max.strides(), index)] =
                     narrow<State>(merged.whole.max);
                 row_state.sum.data<State>()[offset_of(row_state.sum.strides(), index)] =
                     narrow<State>(merged.whole.sum);
               });
}

}  // namespace

void log_sum_exp(ConstRowStateView row_state, TensorView out) {
  const char* const operation = "log_sum_exp";
  check_state(operation, "row_state", row_state, row_state.max.shape());
  require_shape(operation, {"out", out}, row_state.max.shape());
  require_writable(operation, {"out", out}, {});
  on_device(operation, &Operations::log_sum_exp,
            {{"row_state.max", row_state.max}, {"row_state.sum", row_state.sum}, {"out", out}})(row_state,
                                                                                                out);
}

void host::log_sum_exp(const ConstRowStateView& row_state, TensorView out) {
  const char* const operation = "log_sum_exp";
  with_float_type(operation, row_state.max.dtype(), [&]<class State>(State) {
    with_float_type(operation, out.dtype(), [&]<class Out>(Out) {
      for_each_index(out.shape(), [&](const Dims& index) {
        out.data<Out>()[offset_of(out.strides(), index)] =
            narrow<Out>(kernels::log_sum_exp(numbers_at<State>(row_state, index)));
      });
    });
  });
}

void merge_attention(ConstTensorView out_a, ConstRowStateView state_a, ConstTensorView out_b,
                     ConstRowStateView state_b, TensorView out, RowStateView row_state) {
  const char* const operation = "merge_attention";
  require_floats(operation, {"out_a", out_a}, 1, kMaxRank);
  require_shape(operation, {"out_b", out_b}, out_a.shape());
  require_shape(operation, {"out", out}, out_a.shape());
  for (const NamedView& part : {NamedView{"out_a", out_a}, NamedView{"out_b", out_b}}) {
    require_dtype_of(operation, part, {"out", out});
    require_writable_in_place(operation, {"out", out}, part);
  }
  const Dims state_shape = out_a.shape().without(out_a.rank() - 1);
  check_state(operation, "state_a", state_a, state_shape);
  check_state(operation, "state_b", state_b, state_shape);
  if (!row_state.max.given()) refuse(operation, "row_state is not given");
  check_row_state(operation, row_state, state_shape, {{"out_a", out_a}, {"out_b", out_b}, {"out", out}});
  for (const ConstRowStateView& part : {state_a, state_b}) {
    require_dtype_of(operation, {"row_state", row_state.max}, {"the states to merge", part.max});
    require_dtype_of(operation, {"row_state", row_state.sum}, {"the states to merge", part.sum});
    require_writable_in_place(operation, {"row_state.max", row_state.max}, {"a state's max", part.max});
    require_writable_in_place(operation, {"row_state.sum", row_state.sum}, {"a state's sum", part.sum});
    require_writable(operation, {"row_state.max", row_state.max}, {{"a state's sum", part.sum}});
    require_writable(operation, {"row_state.sum", row_state.sum}, {{"a state's max", part.max}});
  }
  on_device(operation, &Operations::merge_attention,
            {{"out_a", out_a},
             {"state_a.max", state_a.max},
             {"state_a.sum", state_a.sum},
             {"out_b", out_b},
             {"state_b.max", state_b.max},
             {"state_b.sum", state_b.sum},
             {"out", out},
             {"row_state.max", row_state.max},
             {"row_state.sum", row_state.sum}})(out_a, state_a, out_b, state_b, out, row_state);
}

void host::merge_attention(ConstTensorView out_a, const ConstRowStateView& state_a, ConstTensorView out_b,
                           const ConstRowStateView& state_b, TensorView out, const RowStateView& row_state) {
  const char* const operation = "merge_attention";
  with_float_type(operation, out.dtype(), [&]<class T>(T) {
    with_float_type(operation, row_state.max.dtype(), [&]<class State>(State) {
      merge_rows<T, State>(out_a, state_a, out_b, state_b, out, row_state);
    });
  });
}

}  // namespace attend
