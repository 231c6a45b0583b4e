#include <attend/pooling.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rows.h"

namespace attend {
namespace {

// Element `column` of the pooled vector of rows [begin, end).
template <class T>
double pooled(const T* data, std::int64_t stride, std::int64_t begin, std::int64_t end,
              Pooling pooling) noexcept {
  const auto at = [&](std::int64_t row) { return static_cast<double>(data[row * stride]); };
  const auto n = static_cast<double>(end - begin);
  double sum = 0;
  switch (pooling) {
    case Pooling::cls:
      return at(begin);
    case Pooling::last_token:
      return at(end - 1);
    case Pooling::max: {
      double largest = at(begin);
      for (std::int64_t row = begin + 1; row < end; ++row) {
        const double value = at(row);
        if (value > largest || std::isnan(value)) largest = value;
      }
      return largest;
    }
    case Pooling::weighted_mean:
      for (std::int64_t row = begin; row < end; ++row) sum += at(row) * static_cast<double>(row - begin + 1);
      return sum / (n * (n + 1) / 2);
    case Pooling::mean:
    case Pooling::mean_sqrt_length:
      break;
  }
  for (std::int64_t row = begin; row < end; ++row) sum += at(row);
  return sum / (pooling == Pooling::mean ? n : std::sqrt(n));
}

// Adds the gradients of the tokens to d (tokens, with this stride); `share` is the gradient of that element.
template <class T>
void add_gradient(const T* data, std::int64_t stride, std::int64_t begin, std::int64_t end, Pooling pooling,
                  double share, T* d, std::int64_t d_stride) noexcept {
  const auto n = static_cast<double>(end - begin);
  const auto add = [&](std::int64_t row, double value) {
    d[row * d_stride] = static_cast<T>(static_cast<double>(d[row * d_stride]) + value);
  };
  switch (pooling) {
    case Pooling::cls:
      return add(begin, share);
    case Pooling::last_token:
      return add(end - 1, share);
    case Pooling::max: {
      std::int64_t largest = begin;
      for (std::int64_t row = begin + 1; row < end; ++row) {
        if (data[row * stride] > data[largest * stride]) largest = row;
      }
      return add(largest, share);
    }
    case Pooling::weighted_mean:
      for (std::int64_t row = begin; row < end; ++row)
        add(row, share * static_cast<double>(row - begin + 1) / (n * (n + 1) / 2));
      return;
    case Pooling::mean:
    case Pooling::mean_sqrt_length:
      break;
  }
  for (std::int64_t row = begin; row < end; ++row)
    add(row, share / (pooling == Pooling::mean ? n : std::sqrt(n)));
}

void check_ends(const char* operation, std::span<const std::int64_t> ends, std::int64_t rows) {
  if (ends.empty() || ends.front() != 0 || ends.back() != rows) {
    refuse(operation, "ends must start at 0 and end at the ", rows, " rows");
  }
  if (!std::is_sorted(ends.begin(), ends.end())) refuse(operation, "ends must not decrease");
}

// Calls body(text) for every text, on threads that have as much to do as its tokens take.
template <class Body>
void for_each_text(std::int64_t texts, ConstTensorView vectors, const Body& body) {
  const std::int64_t numbers = vectors.count() / std::max<std::int64_t>(1, texts);
  for_each_row(texts, std::max<std::int64_t>(1, numbers), body);
}

template <class Body>
void with_computing_type(const char* operation, DType dtype, const Body& body) {
  if (dtype == DType::f32) return body(float{});
  if (dtype == DType::f64) return body(double{});
  refuse(operation, "takes f32 or f64, got ", name_of(dtype));
}

}  // namespace

std::string_view name_of(Pooling pooling) noexcept {
  switch (pooling) {
    case Pooling::cls:
      return "cls";
    case Pooling::max:
      return "max";
    case Pooling::mean:
      return "mean";
    case Pooling::mean_sqrt_length:
      return "mean_sqrt_length";
    case Pooling::weighted_mean:
      return "weighted_mean";
    case Pooling::last_token:
      return "last_token";
  }
  return "";
}

std::optional<Pooling> pooling_named(std::string_view name) noexcept {
  for (const Pooling known : {Pooling::cls, Pooling::max, Pooling::mean, Pooling::mean_sqrt_length,
                              Pooling::weighted_mean, Pooling::last_token}) {
    if (name == name_of(known)) return known;
  }
  return std::nullopt;
}

void pool(ConstTensorView vectors, std::span<const std::int64_t> ends, std::span<const Pooling> poolings,
          TensorView out) {
  constexpr const char* kOperation = "pool";
  require_floats(kOperation, {"vectors", vectors}, 2, 2);
  check_ends(kOperation, ends, vectors.size(0));
  if (poolings.empty()) refuse(kOperation, "no pooling is given");
  const auto texts = static_cast<std::int64_t>(ends.size()) - 1;
  const std::int64_t e = vectors.size(1);
  require_shape(kOperation, {"out", out}, {texts, e * static_cast<std::int64_t>(poolings.size())});
  require_dtype_of(kOperation, {"out", out}, {"vectors", vectors});
  require_writable(kOperation, {"out", out}, {{"vectors", vectors}});
  with_computing_type(kOperation, vectors.dtype(), [&]<class T>(T) {
    const T* const from = vectors.data<T>();
    T* const to = out.data<T>();
    for_each_text(texts, vectors, [&](std::int64_t text, int) noexcept {
      const std::int64_t begin = ends[static_cast<std::size_t>(text)],
                         end = ends[static_cast<std::size_t>(text) + 1];
      for (std::int64_t column = 0; column < out.size(1); ++column) {
        const double value = begin == end
                                 ? 0.0
                                 : pooled(from + column % e * vectors.stride(1), vectors.stride(0), begin,
                                          end, poolings[static_cast<std::size_t>(column / e)]);
        to[text * out.stride(0) + column * out.stride(1)] = static_cast<T>(value);
      }
    });
  });
}

void pool_backward(ConstTensorView vectors, std::span<const std::int64_t> ends,
                   std::span<const Pooling> poolings, ConstTensorView d_out, TensorView d_vectors) {
  constexpr const char* kOperation = "pool_backward";
  require_floats(kOperation, {"vectors", vectors}, 2, 2);
  check_ends(kOperation, ends, vectors.size(0));
  if (poolings.empty()) refuse(kOperation, "no pooling is given");
  const auto texts = static_cast<std::int64_t>(ends.size()) - 1;
  const std::int64_t e = vectors.size(1);
  require_shape(kOperation, {"d_out", d_out}, {texts, e * static_cast<std::int64_t>(poolings.size())});
  require_shape(kOperation, {"d_vectors", d_vectors}, vectors.shape());
  require_dtype_of(kOperation, {"d_out", d_out}, {"vectors", vectors});
  require_dtype_of(kOperation, {"d_vectors", d_vectors}, {"vectors", vectors});
  require_writable(kOperation, {"d_vectors", d_vectors}, {{"vectors", vectors}, {"d_out", d_out}});
  with_computing_type(kOperation, vectors.dtype(), [&]<class T>(T) {
    const T* const from = vectors.data<T>();
    const T* const d = d_out.data<T>();
    T* const to = d_vectors.data<T>();
    for_each_text(texts, vectors, [&](std::int64_t text, int) noexcept {
      const std::int64_t begin = ends[static_cast<std::size_t>(text)],
                         end = ends[static_cast<std::size_t>(text) + 1];
      for (std::int64_t row = begin; row < end; ++row) {
        for (std::int64_t c = 0; c < e; ++c) to[row * d_vectors.stride(0) + c * d_vectors.stride(1)] = 0;
      }
      for (std::int64_t column = 0; begin < end && column < d_out.size(1); ++column) {
        add_gradient(from + column % e * vectors.stride(1), vectors.stride(0), begin, end,
                     poolings[static_cast<std::size_t>(column / e)],
                     static_cast<double>(d[text * d_out.stride(0) + column * d_out.stride(1)]),
                     to + column % e * d_vectors.stride(1), d_vectors.stride(0));
      }
    });
  });
}

void normalize_rows(ConstTensorView x, TensorView out) {
  constexpr const char* kOperation = "normalize_rows";
  require_floats(kOperation, {"x", x}, 2, 2);
  require_shape(kOperation, {"out", out}, x.shape());
  require_dtype_of(kOperation, {"out", out}, {"x", x});
  require_writable_in_place(kOperation, {"out", out}, {"x", x});
  with_computing_type(kOperation, x.dtype(), [&]<class T>(T) {
    const T* const x_data = x.data<T>();
    T* const out_data = out.data<T>();
    for_each_row(x.size(0), x.size(1), [&](std::int64_t row, int) noexcept {
      const T* const from = x_data + row * x.stride(0);
      T* const to = out_data + row * out.stride(0);
      double squares = 0;
      for (std::int64_t j = 0; j < x.size(1); ++j) {
        const auto value = static_cast<double>(from[j * x.stride(1)]);
        squares += value * value;
      }
      const double length = squares == 0 ? 1 : std::sqrt(squares);
      for (std::int64_t j = 0; j < x.size(1); ++j) {
        to[j * out.stride(1)] = static_cast<T>(static_cast<double>(from[j * x.stride(1)]) / length);
      }
    });
  });
}

}  // namespace attend
