// From the sums of a tile of queries to results in memory.
#pragma once

#include "cuda/head.cuh"
#include "cuda/hopper/forward_scores.cuh"
#include "cuda/hopper/forward_work.cuh"
#include "cuda/hopper/fragments.h"

namespace attend::cuda {

template <class Shape>
__device__ __forceinline__ void store_state(const HopperParameters& p, const Work<Shape>& work,
                                            std::int64_t row, float max, float sum) {
  if (p.target.max.data == nullptr) return;
  *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(p.target.max, work.s, work.h, row))) = max;
  *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(p.target.sum, work.s, work.h, row))) = sum;
}

// Four neighbours hold two columns each of four groups of eight: afterwards each holds one group.
__device__ __forceinline__ void exchange(std::uint32_t (&words)[4], int thread) {
  const bool odd = (thread & 1) != 0, high = (thread & 2) != 0;
#pragma unroll
  for (int k = 0; k < 4; k += 2) {
    const std::uint32_t got = __shfl_xor_sync(~0u, odd ? words[k] : words[k + 1], 1);
    (odd ? words[k] : words[k + 1]) = got;
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const std::uint32_t got = __shfl_xor_sync(~0u, high ? words[k] : words[k + 2], 2);
    (high ? words[k] : words[k + 2]) = got;
  }
}

// Row r of a thread, multiplied with `factor`. One loop for each way to store, so that none of them asks at
// every element; `exists` differs within a warp, the rest does not.
template <class T, int kD>
__device__ __forceinline__ void store_row(const HopperParameters& p, const float (&o)[kD / 2], int r,
                                          float factor, char* out, bool exists, int thread) {
  const std::int64_t dv = p.problem.dv;
  const Placed& target = p.target.out;
  if (p.width == StoreWidth::eight) {
#pragma unroll
    for (int j = 0; j < kD / 32; ++j) {
      std::uint32_t words[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int x = 16 * j + 4 * k + 2 * r;
        words[k] = packed(T{}, o[x] * factor, o[x + 1] * factor);
      }
      exchange(words, thread);
      const int column = 8 * (4 * j + thread % 4);
      if (exists && column < dv)
        *reinterpret_cast<uint4*>(out + column * 2) = make_uint4(words[0], words[1], words[2], words[3]);
    }
    return;
  }
  if (!exists) return;
  const auto each_two = [&](auto store) {
#pragma unroll
    for (int x = 2 * r; x < kD / 2; x += 4) {
      const int column = sum_column(thread, x);
      if (column < dv) store(column, o[x] * factor, o[x + 1] * factor);
    }
  };
  if (p.width == StoreWidth::two && target.number != Number::f32) {
    each_two([&](int column, float a, float b) {
      *reinterpret_cast<std::uint32_t*>(out + column * 2) = packed(T{}, a, b);
    });
  } else if (p.width == StoreWidth::two) {
    each_two([&](int column, float a, float b) {
      *reinterpret_cast<float2*>(out + column * 4) = make_float2(a, b);
    });
  } else {
    each_two([&](int column, float a, float b) {
      const auto store = [&](int at, float value) {
        if (at >= dv) return;
        char* const to = out + at * target.element * (target.number == Number::f32 ? 4 : 2);
        if (target.number == Number::f32) {
          *reinterpret_cast<float*>(to) = value;
        } else {
          *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(packed(T{}, value, value));
        }
      };
      store(column, a);
      store(column + 1, b);
    });
  }
}

// A row's largest score in its unit and the sum of its weights, sinks included: what its output is to be
// multiplied with, and its state as others know it.
struct RowEnd {
  float factor, max, sum;

  // The row's largest score may be more than its weights are relative to, and than its sink.
  __device__ __forceinline__ void tell_largest(const HopperParameters& p, float reference, float largest) {
    const float more = largest * p.natural_unit;
    if (!(more > max)) return;
    const bool is_sink = max != reference * p.natural_unit;
    sum *= exp2_unit(is_sink ? (max - more) * kLog2e : (reference - largest) * p.log2_unit);
    max = more;
  }
};

__device__ __forceinline__ RowEnd end_of_row(const HopperParameters& p, float largest, float sum,
                                             float rounding, float sink) {
  RowEnd end;
  end.max = largest == -CUDART_INF_F ? largest : largest * p.natural_unit;
  end.sum = sum * rounding;
  end.factor = rounding;
  if (sink > end.max) {
    const float less = exp2_unit((end.max - sink) * kLog2e);
    end.sum = end.sum * less + 1;
    end.factor *= less;
    end.max = sink;
  } else if (sink != -CUDART_INF_F) {
    end.sum += exp2_unit((sink - end.max) * kLog2e);
  }
  end.factor = end.sum == 0 ? 0.f : end.factor / end.sum;
  return end;
}

// Queries that see no key: zeros, and the sink alone.
template <class Shape>
__device__ __forceinline__ void store_nothing(const HopperParameters& p, const Work<Shape>& work,
                                              int thread) {
  const float sink = p.problem.sinks == nullptr ? -CUDART_INF_F : p.problem.sinks[work.h];
  for (std::int64_t i = std::int64_t{work.first} + thread; i <= work.last(p); i += 256) {
    const std::int64_t at = work.sequence(p).query_begin + i;
    char* const out = const_cast<char*>(Head::row_of(p.target.out, work.s, work.h, at));
    for (std::int64_t c = 0; c < p.problem.dv; ++c)
      store_float(out, p.target.out.number, c * p.target.out.element, 0);
    store_state(p, work, at, sink, sink == -CUDART_INF_F ? 0.f : 1.f);
  }
}

// Adds what is no number to outputs that are stored already: two threads a row, each its own columns.
template <class Shape>
__device__ __forceinline__ void add_strange(const HopperParameters& p, const Work<Shape>& work,
                                            bool everywhere, int thread) {
  pair_sync(4);  // the row was stored by others
  const Head head(p.problem, work.s, work.h);
  const std::int64_t i = std::int64_t{work.first} + thread / 2;
  if (i > work.last(p)) return;
  const KeySpan span = head.visible.keys_of(i);
  char* const out =
      const_cast<char*>(Head::row_of(p.target.out, work.s, work.h, work.sequence(p).query_begin + i));
  for (std::int64_t j = span.begin; j < span.end; ++j) {
    if (!everywhere && !work.hides(static_cast<int>(j / Shape::kKeys))) continue;
    if (!head.takes_part(p.problem, i, j)) continue;
    for (std::int64_t c = thread % 2; c < p.problem.dv; c += 2) {
      const float value =
          load_float(head.v, p.problem.v.number, j * p.problem.v.row + c * p.problem.v.element);
      const std::int64_t at = c * p.target.out.element;
      if (!isfinite(value))
        store_float(out, p.target.out.number, at, load_float(out, p.target.out.number, at) + value);
    }
  }
}

}  // namespace attend::cuda
