#include <attend/embedding.h>

#include "base/check.h"
#include "base/rows.h"
#include "nn/host_operations.h"

namespace attend {
namespace {

void check(const char* operation, std::span<const std::int32_t> ids, const NamedView& table,
           const NamedView& rows) {
  require_floats(operation, table, 2, 2);
  require_shape(operation, rows, {static_cast<std::int64_t>(ids.size()), table.view.size(1)});
  require_dtype_of(operation, rows, table);
  if (table.view.dtype() != DType::f32 && table.view.dtype() != DType::f64) {
    refuse(operation, table.name, " is ", name_of(table.view.dtype()), ", expected f32 or f64");
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= table.view.size(0)) {
      refuse(operation, "id ", ids[i], " at place ", i, " is outside the table of ", table.view.size(0));
    }
  }
}

// Calls body(T{}) for f32 or f64, which check() has made sure of.
template <class Body>
void with_type(DType dtype, Body body) {
  dtype == DType::f32 ? body(float{}) : body(double{});
}

void check_look_up(const char* operation, std::span<const std::int32_t> ids, ConstTensorView table,
                   TensorView out) {
  check(operation, ids, {"table", table}, {"out", out});
  require_writable(operation, {"out", out}, {{"table", table}});
}

template <bool kAdd>
void look_up(std::span<const std::int32_t> ids, ConstTensorView table, TensorView out) {
  with_type(out.dtype(), [&]<class T>(T) {
    const T* const from = table.data<T>();
    T* const to = out.data<T>();
    for_each_row(out.size(0), out.size(1), [&](std::int64_t row, int) noexcept {
      const T* const source = from + ids[static_cast<std::size_t>(row)] * table.stride(0);
      T* const target = to + row * out.stride(0);
      for (std::int64_t j = 0; j < out.size(1); ++j) {
        T& element = target[j * out.stride(1)];
        element = (kAdd ? element : T(0)) + source[j * table.stride(1)];
      }
    });
  });
}

}  // namespace

void embedding(std::span<const std::int32_t> ids, ConstTensorView table, TensorView out) {
  check_look_up("embedding", ids, table, out);
  on_device("embedding", &Operations::embedding, {{"table", table}, {"out", out}})(ids, table, out);
}

void host::embedding(std::span<const std::int32_t> ids, ConstTensorView table, TensorView out) {
  look_up<false>(ids, table, out);
}

void add_embedding(std::span<const std::int32_t> ids, ConstTensorView table, TensorView out) {
  check_look_up("add_embedding", ids, table, out);
  on_device("add_embedding", &Operations::add_embedding, {{"table", table}, {"out", out}})(ids, table, out);
}

void host::add_embedding(std::span<const std::int32_t> ids, ConstTensorView table, TensorView out) {
  look_up<true>(ids, table, out);
}

void add_embedding_gradient(std::span<const std::int32_t> ids, ConstTensorView d_out, TensorView d_table) {
  constexpr const char* kOperation = "add_embedding_gradient";
  check(kOperation, ids, {"d_table", d_table}, {"d_out", d_out});
  require_writable(kOperation, {"d_table", d_table}, {{"d_out", d_out}});
  on_device(kOperation, &Operations::add_embedding_gradient, {{"d_out", d_out}, {"d_table", d_table}})(
      ids, d_out, d_table);
}

void host::add_embedding_gradient(std::span<const std::int32_t> ids, ConstTensorView d_out,
                                  TensorView d_table) {
  // A thread owns columns, not rows: two ids may be the same.
  constexpr std::int64_t kColumns = 64;
  const std::int64_t n = d_table.size(1);
  with_type(d_out.dtype(), [&]<class T>(T) {
    const T* const from = d_out.data<T>();
    T* const to = d_table.data<T>();
    parallel_for((n + kColumns - 1) / kColumns, [&](std::int64_t chunk, int) noexcept {
      const std::int64_t first = chunk * kColumns, last = std::min(n, first + kColumns);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const T* const source = from + static_cast<std::int64_t>(i) * d_out.stride(0);
        T* const target = to + ids[i] * d_table.stride(0);
        for (std::int64_t j = first; j < last; ++j) {
          target[j * d_table.stride(1)] += source[j * d_out.stride(1)];
        }
      }
    });
  });
}

}  // namespace attend
