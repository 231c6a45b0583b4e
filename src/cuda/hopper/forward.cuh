// Attention by the asynchronous tensor cores of compute capability 9.0. A block of three warpgroups stays on
// its multiprocessor and takes tiles of 128 queries: one thread fetches tiles of keys and values by TMA, two
// ahead, three warps check values where keys are hidden (forward_fetch.cuh), and two warpgroups compute 64
// queries each. While one of them multiplies, the other makes its softmax; named barriers keep them in turns.
// The weights of a tile never leave the registers, and the scores of the next tile are in flight with the
// output of this one.
//
// Scores are f32 sums of 16-bit products; weights are rounded to the type of the values before they meet
// them, the row's sum is that of the weights before rounding.
#pragma once

#include "cuda/error.h"
#include "cuda/hopper/exp2.h"
#include "cuda/hopper/forward_fetch.cuh"
#include "cuda/hopper/forward_guess.cuh"
#include "cuda/hopper/forward_output.cuh"
#include "cuda/hopper/forward_scores.cuh"
#include "cuda/hopper/wgmma.h"

namespace attend::cuda {

// By how many powers of 2 weights may exceed 1: far from the 16 that f16 holds.
inline constexpr float kGrowth = 8;

// The registers of a consumer: two rows (r = 0, 1) of 64.
template <class T, class Shape, Variant kVariant>
struct Consumer {
  static constexpr int kKeys = Shape::kKeys, kD = Shape::kD;
  static constexpr bool kEvery = kVariant == Variant::every, kHidesAnywhere = hides_anywhere(kVariant);
  static constexpr bool kMask = kEvery || kVariant == Variant::masked,
                        kBias = kEvery || kVariant == Variant::biased;
  static constexpr bool kSlope = kEvery || kVariant == Variant::sloped;
  // See forward_guess.cuh. Beyond 128 it takes too many registers.
  static constexpr bool kGuesses = kVariant == Variant::plain && kD <= 128, kApart = kGuesses && kD == 64;
  // Whether a row's weights may stay relative to what is no longer its largest score, so that most outputs
  // need no rescaling. Asking costs time, too: it pays from 128 columns on (a tenth at 256), and not beside
  // slopes. Dropout multiplies weights, which f16 must still hold.
  static constexpr bool kKeepsReference = kD > 64 && !kGuesses && kVariant != Variant::sloped && !kEvery;
  // Where scores take multiply-adds, these have no time for exponentials.
  static constexpr int kPolynomialEvery =
      kVariant == Variant::plain || kVariant == Variant::masked ? Shape::kPolynomialEvery : 0;

  const HopperParameters& p;
  HopperMemory<Shape>& memory;
  const int thread, warpgroup;
  float o[kD / 2], s[kKeys / 2], largest[2], reference[2], sum[2], alpha[2];
  std::uint32_t weights[kKeys / 4];
  std::conditional_t<kGuesses, GuessedWeights<T, kKeys / 2, kApart, Shape::kPolynomialEvery>, NoGuess> guess;
  std::uint32_t zero;    // as nobody knows before the kernel runs, see round_weights()
  bool raised;           // a reference of the warp has changed
  int taken = 0;         // tiles of keys so far
  int checks = 0;        // of those, whose values were looked at
  bool strange = false;  // a value of a tile with hidden keys was not finite
  // Of the options, for each work or tile:
  BiasTile<kBias ? kKeys / 2 : 2> bias;
  const char* bias_rows[2];
  std::uint32_t mask[2];
  const std::uint32_t* mask_rows[2];
  float slope;
  float below[kVariant == Variant::sloped ? 2 : 1];  // what is still to be taken off a row's scores

  __device__ Consumer(const HopperParameters& parameters, HopperMemory<Shape>& shared, int t, int w)
      : p(parameters), memory(shared), thread(t), warpgroup(w), zero(parameters.problem.d < 0) {
#pragma unroll
    for (int x = 0; x < kKeys / 4; ++x) weights[x] = 0;
#pragma unroll
    for (int x = 0; x < kD / 2; ++x) o[x] = 0;
  }

  __device__ int stage() const { return taken % Shape::kStages; }
  __device__ int phase() const { return taken / Shape::kStages & 1; }
  __device__ int row(int r) const { return warpgroup * 64 + sum_row(thread, 2 * r); }

  __device__ __forceinline__ void multiply_keys(std::uint32_t q, int at) {
    const Operand queries = Operand::of_rows(q), keys = Operand::of_rows(shared_address(memory.k[at]));
#pragma unroll
    for (int step = 0; step < kD / 16; ++step)
      multiply_shared(T{}, s, queries.row_step(Shape::kQueries, step), keys.row_step(kKeys, step), step != 0);
  }
  __device__ __forceinline__ void multiply_values(int at) {
    const Operand values = Operand::of_columns(shared_address(memory.v[at]), kKeys);
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step)
      multiply_registers(T{}, o, weights + 4 * step, values.column_step(step), 1);
  }

  // Where the rows of a mask and a bias are, and what else stays for all tiles of keys.
  __device__ __forceinline__ void begin_options(const Work<Shape>& work) {
    if constexpr (kMask || kBias) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const std::int64_t i = min(std::int64_t{work.first} + row(r), work.last(p));
        if constexpr (kMask)
          mask_rows[r] =
              p.mask.data + work.s * p.mask.sequence + work.h * p.mask.head + i * p.mask.row + thread % 4;
        if constexpr (kBias)
          bias_rows[r] = p.bias.data + work.s * p.bias.sequence + work.h * p.bias.head + i * p.bias.row;
      }
    }
    if constexpr (kSlope) slope = p.problem.slopes == nullptr ? 0.f : p.problem.slopes[work.h] * p.slope_unit;
  }
  // Ask memory for a tile's numbers of a mask and a bias.
  __device__ __forceinline__ void ask_mask(int tile) {
    if constexpr (kMask) {
      if (kEvery && p.mask.data == nullptr) return;
#pragma unroll
      for (int r = 0; r < 2; ++r) ask(mask[r], mask_rows[r] + std::int64_t{tile} * p.mask.tile);
    }
  }
  __device__ __forceinline__ void ask_bias(int tile) {
    if constexpr (kBias) bias.ask_for(p.bias, bias_rows, tile * kKeys + thread % 4 * 2);
  }

  // The scores of a row that are seen by position, as bits.
  __device__ __forceinline__ std::uint32_t seen(const Work<Shape>& work, int tile, int r) const {
    const KeySpan span = work.visible(p).keys_of(work.first + row(r));
    const std::int64_t at = std::int64_t{tile} * kKeys;
    return bits_of_columns(thread, static_cast<int>(max(span.begin - at, std::int64_t{0})),
                           static_cast<int>(min(span.end - at, std::int64_t{kKeys})));
  }
  __device__ __forceinline__ float position(const Work<Shape>& work, int tile) const {
    return static_cast<float>(work.first + row(0) - thread % 4 * 2 + work.sequence(p).query_offset -
                              std::int64_t{tile} * kKeys);
  }

  // What the options make of a tile's scores.
  template <bool kHidden>
  __device__ __forceinline__ void apply_options(const Work<Shape>& work, int tile) {
    if constexpr (kVariant == Variant::capped) cap(s, p.to_cap);
    if constexpr (kVariant == Variant::sloped) add_distances(work, tile);
    if constexpr (kVariant == Variant::biased) bias.add_to(s, p.problem.scale, p.bias.number);
    if constexpr (kEvery) apply_every(work, tile);
    if constexpr (kHidden || kMask) {
      const bool masks = kMask && (!kEvery || p.mask.data != nullptr);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const std::uint32_t of_mask = masks ? mask[r] : ~0u;
        hide(s, r, kHidden ? of_mask & seen(work, tile, r) : of_mask);
      }
    }
  }
  // Distances to keys that all lie on one side of the warpgroup's queries rise or fall with the columns alike:
  // a row's part of them is left to the shift of its exponents. Up to a slope of 2, as the width of a tile of
  // a steeper one would cost scores precision that counts.
  __device__ __forceinline__ void add_distances(const Work<Shape>& work, int tile) {
    const float at = position(work, tile);
    const std::int64_t ahead = work.first + warpgroup * 64 + work.sequence(p).query_offset -
                               std::int64_t{tile} * kKeys;
    const bool left = ahead >= kKeys - 1, right = ahead + 63 <= 0;
    if (slope <= 2 * p.slope_unit && (left || right)) {
      const float rising = left ? slope : -slope;
#pragma unroll
      for (int x = 0; x < kKeys / 2; ++x)
        s[x] = __fmaf_rn(rising, static_cast<float>(sum_column(0, x)), s[x]);
#pragma unroll
      for (int r = 0; r < 2; ++r) below[r] = rising * (at + 8 * r);
    } else {
      add_slope(s, slope, at);
      below[0] = below[1] = 0;
    }
  }
  // One option after the other: what only one of them needs takes no registers from the rest.
  __device__ __forceinline__ void apply_every(const Work<Shape>& work, int tile) {
    if (p.problem.softcap != 0) {
      cap(s, p.to_cap);
#pragma unroll
      for (int x = 0; x < kKeys / 2; ++x) s[x] = __fmul_rn(s[x], p.problem.softcap);
    } else {
#pragma unroll
      for (int x = 0; x < kKeys / 2; ++x) s[x] = __fmul_rn(s[x], p.problem.scale);
    }
    if (slope > 0) {
      add_slope(s, slope, position(work, tile));
    } else if (slope < 0) {
#pragma unroll
      for (int x = 0; x < kKeys / 2; ++x) s[x] = -s[x];
      add_slope(s, -slope, position(work, tile));
#pragma unroll
      for (int x = 0; x < kKeys / 2; ++x) s[x] = -s[x];
    }
    if (p.bias.data != nullptr) {  // now, not ahead: there is no room beside what the other options need
      ask_bias(tile);
      bias.add_to(s, 1.f, p.bias.number);
    }
  }

  template <bool kClamped>
  __device__ __forceinline__ float power(float x, int pair) const {
    if (kPolynomialEvery == 0 || pair % (kPolynomialEvery + (kPolynomialEvery == 0)) != 0)
      return exp2_unit(x);
    const float clamped = larger_or_nan(x, -126.f);
    const float whole = clamped + 12582912.f;  // 1.5 * 2^23: rounds to a whole number in its low bits
    const float y = exp2_polynomial(clamped - (whole - 12582912.f));
    const float result = y * __int_as_float((__float_as_int(whole) << 23) + 0x3F800000);
    return kClamped && x < -126.f ? 0.f : result;
  }

  __device__ __forceinline__ float largest_of_row(int r) const {
    float a = s[2 * r];
#pragma unroll
    for (int x = 2 * r; x < kKeys / 2; x += 4) a = fmaxf(a, fmaxf(s[x], s[x + 1]));
    if constexpr (kVariant == Variant::sloped) a -= below[r];  // which is the thread's own
    a = fmaxf(a, __shfl_xor_sync(~0u, a, 1));
    return fmaxf(a, __shfl_xor_sync(~0u, a, 2));
  }
  // A weight is 2^(score * unit - shift).
  struct Measure {
    float unit, shift;
  };
  // Of a row whose largest score in this tile is a; alpha is what earlier tiles are to be multiplied with.
  // Weights are relative to a score that is the largest or up to 2^kGrowth times smaller: then alpha is
  // mostly 1.
  template <bool kHidden>
  __device__ __forceinline__ Measure measure(int r, float a) {
    largest[r] = fmaxf(largest[r], a);
    float now = largest[r];
    if constexpr (kKeepsReference) {
      if (!((now - reference[r]) * p.log2_unit > kGrowth)) now = reference[r];
    }
    const bool none = kHidden && now == -CUDART_INF_F;  // no key of the row so far
    alpha[r] = none ? 1.f : exp2_unit((reference[r] - now) * p.log2_unit);
    reference[r] = now;
    const float unit = unit_around(p, now);
    return {unit, none ? 0.f : now * unit};
  }

  // The weights of the tile beside its scores, which stay until it is known that these are right.
  template <bool kHidden>
  __device__ __forceinline__ void guess_weights() {
#pragma unroll
    for (int r = 0; r < 2; ++r) guess.template make<kHidden, false>(s, r);
  }
  // A state tells the largest score, here that of this thread's columns.
  __device__ __forceinline__ void note_largest() {
    if (p.target.max.data == nullptr) return;
#pragma unroll
    for (int x = 0; x < kKeys / 2; x += 2)
      largest[x >> 1 & 1] = fmaxf(largest[x >> 1 & 1], fmaxf(s[x], s[x + 1]));
  }
  template <bool kFirst>
  __device__ __forceinline__ void settle_weights() {
    bool mine[2] = {true, true};
    if constexpr (!kFirst) {
      const float nothing = kApart ? *static_cast<const volatile float*>(&memory.nothing) : 0.f;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        guess.add_up(r, nothing);
        mine[r] = guess.too_large(r);
      }
    }
    raised = kFirst || __any_sync(~0u, mine[0] || mine[1]);
    if (raised) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        alpha[r] = guess.raise(p, s, r, largest_of_row(r), mine[r], thread, reference[r]);
        sum[r] *= alpha[r];
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) sum[r] += guess.added[r];
  }
  // s becomes the weights of the tile, relative to the largest score so far.
  template <bool kHidden>
  __device__ __forceinline__ void softmax() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      Measure by = measure<kHidden>(r, largest_of_row(r));
      if constexpr (kVariant == Variant::sloped) by.shift = __fmaf_rn(below[r], by.unit, by.shift);
      float added = 0;
#pragma unroll
      for (int x = 2 * r; x < kKeys / 2; x += 4) {
        s[x] = power<kHidden>(__fmaf_rn(s[x], by.unit, -by.shift), x / 4);
        s[x + 1] = power<kHidden>(__fmaf_rn(s[x + 1], by.unit, -by.shift), x / 4);
        added += s[x] + s[x + 1];
      }
      sum[r] = sum[r] * alpha[r] + added;
    }
  }
  // The same out of raw products under a cap, none of them hidden: tanh never falls, so the largest is found
  // before it, and the polynomial ends in the exponent.
  __device__ __forceinline__ void softmax_under_cap() {
    const bool large = scale_to_cap(s, p.to_cap);
    Measure by[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) by[r] = measure<false>(r, tanh_of_any(largest_of_row(r)));
    const auto exponent_of_small = [&](float h, float shift) {
      const float y = tanh_polynomial(p.cap_terms, __fmul_rn(h, h),
                                      [](float a, float b, float c) { return __fmaf_rn(a, b, c); });
      return __fmaf_rn(h, y, -shift);
    };
    float added[2] = {};
    if (large) {
#pragma unroll
      for (int x = 0; x < kKeys / 2; ++x) {
        const float shift = by[x >> 1 & 1].shift;
        const float small = exponent_of_small(s[x], shift);
        const float large_one = __fmaf_rn(tanh_of_large(s[x]), p.log2_unit, -shift);
        s[x] = exp2_unit(is_small(s[x]) ? small : large_one);
        added[x >> 1 & 1] += s[x];
      }
    } else {
#pragma unroll
      for (int x = 0; x < kKeys / 2; ++x) {
        s[x] = exp2_unit(exponent_of_small(s[x], by[x >> 1 & 1].shift));
        added[x >> 1 & 1] += s[x];
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) sum[r] = sum[r] * alpha[r] + added[r];
  }

  __device__ __forceinline__ void drop(const Work<Shape>& work, int tile) {
    const Coins coins = Coins::of(p.problem.coin_threshold, p.problem.dropout_seed, work.s, work.h);
#pragma unroll
    for (int x = 0; x < kKeys / 2; ++x) {
      const std::int64_t i = work.first + row(x >> 1 & 1),
                         j = std::int64_t{tile} * kKeys + sum_column(thread, x);
      s[x] *= coins.keeps(i, j) ? p.problem.kept : 0.f;
    }
  }

  __device__ __forceinline__ void round_weights() {
#pragma unroll
    for (int x = 0; x < kKeys / 4; ++x) {
      if constexpr (kGuesses) {
        // They were made while those of the tile before were still being multiplied. Without an operation
        // between, the assembler would put both into the same registers, and make products wait (C7513).
        weights[x] = kApart ? guess.packed_pair(x) : guess.packed_pair(x) | zero;
      } else {
        weights[x] = packed(T{}, s[2 * x], s[2 * x + 1]);
      }
    }
  }

  // The values of a tile with hidden keys may be used once they are numbers, see check_values().
  __device__ __forceinline__ void wait_for_check() {
    const int at = checks % Shape::kStages;
    barrier_wait(&memory.v_checked[at], checks / Shape::kStages & 1);
    strange |= *reinterpret_cast<const volatile std::uint32_t*>(memory.found[at]) != 0;
    ++checks;
  }

  // The scores of a tile are there: weights out of them.
  template <bool kHidden, bool kFirst = false>
  __device__ __forceinline__ void weigh(const Work<Shape>& work, int tile) {
    if constexpr (kVariant == Variant::capped && !kHidden) return softmax_under_cap();
    apply_options<kHidden>(work, tile);
    if constexpr (kVariant == Variant::biased) {
      if (tile > work.tiles.begin) ask_bias(tile - 1);  // as early as there is room for it
    }
    if constexpr (kGuesses) {
      if (!kFirst) guess_weights<kHidden>();
      note_largest();
      if (kFirst || !kApart) settle_weights<kFirst>();
    } else {
      softmax<kHidden || kHidesAnywhere>();
    }
    if (kEvery && p.problem.drops()) drop(work, tile);
  }

  // One more tile: its scores beside the output of the tile before it.
  template <bool kHidden>
  __device__ __forceinline__ void step(const Work<Shape>& work, std::uint32_t q, int tile) {
    const int before = stage(), before_phase = phase();
    ++taken;
    ask_mask(tile);
    barrier_wait(&memory.k_full[stage()], phase());
    pair_sync(1 + warpgroup);
    products_fence();
    multiply_keys(q, stage());
    products_commit();
    barrier_wait(&memory.v_full[before], before_phase);
    multiply_values(before);
    products_commit();
    pair_arrive(2 - warpgroup);
    products_wait<1>();
    if (thread == 0) barrier_arrive(&memory.k_empty[stage()]);
    weigh<kHidden>(work, tile);
    products_wait<0>();
    if (thread % 32 == 0) barrier_arrive(&memory.v_empty[before]);
    if constexpr (kApart) settle_weights<false>();
    if (kGuesses ? raised : !kKeepsReference || __any_sync(~0u, alpha[0] != 1 || alpha[1] != 1)) {
#pragma unroll
      for (int x = 0; x < kD / 2; ++x) o[x] *= alpha[x >> 1 & 1];
    }
    round_weights();
    if constexpr (kHidden || kHidesAnywhere) wait_for_check();
  }

  template <bool kHidden>
  __device__ __forceinline__ void steps(const Work<Shape>& work, std::uint32_t q, int begin, int end) {
#pragma unroll 1
    for (int tile = end - 1; tile >= begin; --tile) step<kHidden>(work, q, tile);
  }

  // The first tile of a work, beside the output of the last tile of the one before, which is finished
  // meanwhile.
  __device__ __forceinline__ void first_step(const Work<Shape>& work, std::uint32_t q, int round,
                                             const Work<Shape>& before_it) {
    const int before = stage(), before_phase = phase(), of_q = round % Shape::kQueryStages;
    const bool first = round == 0;
    if (!first) ++taken;
    begin_options(work);
    ask_mask(work.tiles.end - 1);
    if constexpr (kVariant == Variant::biased) ask_bias(work.tiles.end - 1);
    pair_sync(1 + warpgroup);
    if (!first) barrier_wait(&memory.v_full[before], before_phase);
    products_fence();
    multiply_values(before);  // of the first work: whatever is there, by nothing, into what is cleared
    products_commit();
    barrier_wait(&memory.q_full[of_q], round / Shape::kQueryStages & 1);
    barrier_wait(&memory.k_full[stage()], phase());
    multiply_keys(q, stage());
    products_commit();
    pair_arrive(2 - warpgroup);
    products_wait<1>();
    if (!first) {
      if (thread % 32 == 0) barrier_arrive(&memory.v_empty[before]);
      finish(before_it);
    }
#pragma unroll
    for (int x = 0; x < kD / 2; ++x) o[x] = 0;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      largest[r] = reference[r] = -CUDART_INF_F;
      sum[r] = 0;
    }
    strange = false;
    products_wait<0>();
    if (thread == 0) barrier_arrive(&memory.k_empty[stage()]);
    weigh<true, true>(work, work.tiles.end - 1);
    round_weights();
    wait_for_check();
  }

  // All of a work but the output of its last tile.
  __device__ __forceinline__ void compute(const Work<Shape>& work, int round, const Work<Shape>& before_it) {
    const int of_q = round % Shape::kQueryStages;
    const std::uint32_t q = shared_address(memory.q[of_q]) + warpgroup * 64 * kRowBytes;
    const int tile = work.tiles.end - 1;
    first_step(work, q, round, before_it);
#pragma unroll 1
    for (int part = 0; part < 3; ++part) {  // hidden on the right, open, hidden on the left
      if (part == 1) {
        steps<false>(work, q, work.tiles.all_begin, min(work.tiles.all_end, tile));
      } else {
        steps<true>(work, q, part == 0 ? work.tiles.all_end : work.tiles.begin,
                    part == 0 ? tile : min(work.tiles.all_begin, tile));
      }
    }
    if (thread == 0) barrier_arrive(&memory.q_empty[of_q]);
  }

  // The output of the last tile of the last work.
  __device__ __forceinline__ void end(const Work<Shape>& work) {
    barrier_wait(&memory.v_full[stage()], phase());
    products_fence();
    multiply_values(stage());
    products_commit();
    products_wait<0>();
    finish(work);
  }

  // Divides by the sums, sinks included, and stores.
  __device__ __forceinline__ void finish(const Work<Shape>& work) {
    const float sink = p.problem.sinks == nullptr ? -CUDART_INF_F : p.problem.sinks[work.h];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
      sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
      const std::int64_t i = std::int64_t{work.first} + row(r);
      // The weights were made around another score than the largest, and in powers of 2, which was rounded;
      // this makes up for both.
      const float shift = __fmul_rn(reference[r], p.log2_unit);
      float rounding = fabsf(shift) < kEnormous ? exp2_unit(-fmaf(reference[r], p.log2_unit, -shift)) : 1.f;
      if (!kGuesses && largest[r] != reference[r])
        rounding *= exp2_unit((reference[r] - largest[r]) * p.log2_unit);
      RowEnd end = end_of_row(p, kGuesses ? reference[r] : largest[r], sum[r], rounding, sink);
      if (kGuesses && p.target.max.data != nullptr) {
        largest[r] = fmaxf(largest[r], __shfl_xor_sync(~0u, largest[r], 1));
        largest[r] = fmaxf(largest[r], __shfl_xor_sync(~0u, largest[r], 2));
        end.tell_largest(p, reference[r], largest[r]);
      }
      const bool exists = i <= work.last(p);
      const std::int64_t at = work.sequence(p).query_begin + (exists ? i : work.last(p));
      if (exists && thread % 4 == 0) store_state(p, work, at, isnan(end.sum) ? end.sum : end.max, end.sum);
      store_row<T, kD>(p, o, r, end.factor, const_cast<char*>(Head::row_of(p.target.out, work.s, work.h, at)),
                       exists, thread);
    }
    if (strange) add_strange(p, work, kHidesAnywhere, warpgroup * 128 + thread);
  }
};

template <class T, class Shape, Variant kVariant>
__global__ void __launch_bounds__(384, 1) hopper_kernel(const __grid_constant__ HopperParameters p) {
  extern __shared__ char raw[];
  // Counted from `raw`, not rounded up as a number: else the compiler no longer knows that it is shared
  // memory, and has addresses of two registers.
  auto& memory = *reinterpret_cast<HopperMemory<Shape>*>(raw + (-shared_address(raw) & 1023));
  if (threadIdx.x == 0) memory.init();
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<Shape::kProducerRegisters>();
    const int warp = uniform(threadIdx.x / 32);
    if (warp > 0) {
      check_values<T, Shape, kVariant == Variant::biased>(p, memory, warp - 1, hides_anywhere(kVariant));
    } else if (threadIdx.x == 0) {
      fetch<Shape>(p, memory);
    }
    return;
  }
  take_registers<Shape::kConsumerRegisters>();
  const int warpgroup = uniform(threadIdx.x / 128) - 1;
  Consumer<T, Shape, kVariant> consumer(p, memory, threadIdx.x % 128, warpgroup);
  if (warpgroup == 1) pair_arrive(1);  // the first turn is the first's
  int rounds = 0;
  Work<Shape> before{};
  for_each_work<Shape>(p, [&](Work<Shape>& work) {
    if (!work.exists(p)) return;
    work.make_uniform();
    if (work.tiles.count() == 0) {
      store_nothing(p, work, threadIdx.x - 128);
      return;
    }
    consumer.compute(work, rounds++, before);
    before = work;
  });
  if (rounds != 0) consumer.end(before);
}

template <class Shape, Variant kVariant>
void launch_hopper(plugin::Place place, const HopperParameters& parameters, int blocks) {
  constexpr int kBytes = sizeof(HopperMemory<Shape>) + 1024;
  static_assert(kBytes <= 227 * 1024, "more shared memory than a multiprocessor gives to a block");
  const auto launch = [&](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
          "get shared memory for attention");
    kernel<<<static_cast<unsigned>(blocks), 384, kBytes, static_cast<cudaStream_t>(place.stream)>>>(
        parameters);
    check(cudaGetLastError(), "launch attention");
  };
  if (parameters.problem.q.number == Number::f16) return launch(hopper_kernel<__half, Shape, kVariant>);
  launch(hopper_kernel<__nv_bfloat16, Shape, kVariant>);
}

}  // namespace attend::cuda
