// How it works: 16 lines of 16 words, a word being two numbers, are a square. Two rows woven make a line, and
// so do 32 numbers of a row; turning the square makes lines of the one kind of those of the other.
#include "kernels/matmul/pair_panels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/pair_panels.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/bf16_pairs-inl.h"

#if ATTEND_BF16_PAIRS
ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

static_assert(kNumbersOfLine == 2 * kPanelColumns);

HWY_INLINE V some_numbers(const float* from, std::int64_t count) {
  return V{_mm512_maskz_loadu_ps(first_lanes(std::max<std::int64_t>(0, count)), from)};
}

// Numbers j of two rows side by side; `rows` of them exist.
HWY_INLINE Pairs woven_line(const float* from, std::int64_t step, std::int64_t rows, std::int64_t count) {
  if (rows <= 0) return hn::Zero(DI());
  return woven(some_numbers(from, count), rows > 1 ? some_numbers(from + step, count) : hn::Zero(D()));
}

// 32 numbers of a row as they lie, of which `count` exist.
HWY_INLINE Pairs whole_line(const float* from, std::int64_t count) {
  const V first = some_numbers(from, count), second = some_numbers(from + 16, count - 16);
  return Pairs{reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.raw, first.raw))};
}

// Column c of square becomes line c.
HWY_INLINE void turn(Pairs (&square)[kLanes]) {
  Slot x[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) x[r] = hn::BitCast(D(), square[r]);
  transpose_block(x);
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) square[r] = hn::BitCast(DI(), x[r]);
}

HWY_INLINE void put(Pairs line, void* to) { _mm512_store_si512(to, line.raw); }

inline void weave_into_panels(const float* w, std::int64_t step, const PairPanelsOut& out) {
  for (std::int64_t p = 0; p < out.depth; p += 2) {
    const float* const from = w + p * step;
    std::uint32_t* to = out.panels + p / 2 * kPanelColumns;
    for (std::int64_t j = 0; j < out.columns; j += kPanelColumns, to += out.panel_step)
      put(woven_line(from + j, step, out.depth - p, out.columns - j), to);
  }
}

inline void turn_into_panels(const float* w, std::int64_t step, const PairPanelsOut& out) {
  const std::int64_t pairs = pair_count(out.depth);
  for (std::int64_t j = 0; j < out.columns; j += kPanelColumns) {
    std::uint32_t* const panel = out.panels + j / kPanelColumns * out.panel_step;
    for (std::int64_t p = 0; p < out.depth; p += kNumbersOfLine) {
      Pairs square[kLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        square[r] = j + r < out.columns ? whole_line(w + (j + r) * step + p, out.depth - p) : hn::Zero(DI());
      }
      turn(square);
      const std::int64_t lines = std::min<std::int64_t>(kLanes, pairs - p / 2);
      for (int r = 0; r < lines; ++r) put(square[r], panel + (p / 2 + r) * kPanelColumns);
    }
  }
}

inline void turn_into_rows(const float* x, std::int64_t step, const PairRowsOut& out) {
  for (std::int64_t p = 0; p < out.depth; p += kNumbersOfLine) {
    bfloat16* const line = out.to + p / kNumbersOfLine * out.line;
    for (std::int64_t i = 0; i < out.rows; i += kLanes) {
      Pairs square[kLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        const std::int64_t column = p + 2 * r;
        square[r] = woven_line(x + column * step + i, step, out.depth - column, out.rows - i);
      }
      turn(square);
      const std::int64_t there = std::min<std::int64_t>(kLanes, out.rows - i);
      for (int r = 0; r < there; ++r) put(square[r], line + i / kLanes * out.sixteen_rows + r * out.row);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();
#endif  // ATTEND_BF16_PAIRS

#if HWY_ONCE
namespace attend::kernels {

#if HWY_TARGETS & ATTEND_BF16_TARGETS

void weave_panels(const float* w, std::int64_t step, const PairPanelsOut& out) noexcept {
  bf16_set::weave_into_panels(w, step, out);
}
void turn_panels(const float* w, std::int64_t step, const PairPanelsOut& out) noexcept {
  bf16_set::turn_into_panels(w, step, out);
}
void turn_rows(const float* x, std::int64_t step, const PairRowsOut& out) noexcept {
  bf16_set::turn_into_rows(x, step, out);
}

#else

// Never called: multiplies_bf16() says no.
void weave_panels(const float*, std::int64_t, const PairPanelsOut&) noexcept {}
void turn_panels(const float*, std::int64_t, const PairPanelsOut&) noexcept {}
void turn_rows(const float*, std::int64_t, const PairRowsOut&) noexcept {}

#endif

}  // namespace attend::kernels
#endif
