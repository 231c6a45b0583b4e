// How it works, for a tile of queries and a tile of keys, queries in vector lanes:
//
//   S^T = K Q^T          (keys, queries)  score_tile-inl.h
//   P^T = exp(S^T - max)                  max, sum and exp are vertical: no lane ever looks at another
//   O^T += V^T P^T       (dv, queries)    V is read in place, one element broadcast to all lanes
//
// Key tiles start at multiples of kKeyTile, so a row's bits depend on its own sequence only.
#include "kernels/attention/attention_fused.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_fused.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention/score_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <int kV>
struct Tile {
  const Head<float>& head;
  ScoreTile<kV> scores;
  const std::int64_t width = scores.width;
  float* const s = scores.s;
  float* const o;     // (dv, width)
  float* const seen;  // (kKeyTile, width): scores, kept where masked values are not finite
  V max[kV], sum[kV];

  static HWY_INLINE std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
    return ScoreTile<kV>::scratch_size(d) + (dv + kKeyTile) * kV * lanes();
  }

  HWY_ATTR Tile(const Head<float>& h, std::int64_t first_row, std::int64_t rows, float* scratch)
      : head(h),
        scores(h, first_row, rows, scratch),
        o(scratch + ScoreTile<kV>::scratch_size(h.d)),
        seen(o + h.dv * width) {}

  // Scores to exponentials, in place; the running maximum and sum; what O must be multiplied with before it
  // is added to.
  HWY_ATTR void exponentials(std::int64_t keys) {
    const D d;
    const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
    for (int v = 0; v < kV; ++v) {
      float* const column = s + v * lanes();
      V largest[4] = {max[v], max[v], max[v], max[v]};
      std::int64_t j = 0;
      for (; j + 4 <= keys; j += 4) {
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) largest[u] = hn::Max(largest[u], hn::Load(d, column + (j + u) * width));
      }
      for (; j < keys; ++j) largest[0] = hn::Max(largest[0], hn::Load(d, column + j * width));
      const V now = hn::Max(hn::Max(largest[0], largest[1]), hn::Max(largest[2], largest[3]));
      // A lane that has seen no key yet keeps -inf and takes 0 for it, so that -inf - -inf never arises.
      const V base = hn::IfThenZeroElse(hn::Eq(now, minus_infinity), now);
      if (!hn::AllTrue(d, hn::Eq(now, max[v]))) {
        const V factor = exponential(hn::Sub(max[v], base));
        sum[v] = hn::Mul(sum[v], factor);
        for (std::int64_t c = 0; c < head.dv; ++c) {
          float* const at = o + c * width + v * lanes();
          hn::Store(hn::Mul(hn::Load(d, at), factor), d, at);
        }
        max[v] = now;
      }
      V total[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
      for (j = 0; j + 4 <= keys; j += 4) {
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const V p = exponential(hn::Sub(hn::Load(d, column + (j + u) * width), base));
          hn::Store(p, d, column + (j + u) * width);
          total[u] = hn::Add(total[u], p);
        }
      }
      // The same accumulator for key j wherever the tile ends, so that keys a lane does not see leave its
      // bits alone.
      for (int u = 0; j + u < keys; ++u) {
        const V p = exponential(hn::Sub(hn::Load(d, column + (j + u) * width), base));
        hn::Store(p, d, column + (j + u) * width);
        total[u] = hn::Add(total[u], p);
      }
      sum[v] = hn::Add(sum[v], hn::Add(hn::Add(total[0], total[1]), hn::Add(total[2], total[3])));
    }
  }

  // Values behind a mask may be NaN or infinite, and 0 x NaN is NaN. Such values are taken out of the product
  // and added lane by lane, where their key takes part. `seen` keeps the scores from before the exponentials.
  HWY_ATTR bool any_value_not_finite(std::int64_t first_key, std::int64_t keys) const {
    const D d;
    for (std::int64_t j = 0; j < keys; ++j) {
      const float* const value = head.value(first_key + j);
      // x - x is 0 for finite x and NaN otherwise.
      V wrong = hn::Zero(d);
      std::int64_t c = 0;
      for (; c + lanes() <= head.dv; c += lanes()) {
        const V x = hn::LoadU(d, value + c);
        wrong = hn::Add(wrong, hn::Sub(x, x));
      }
      float rest = 0;
      for (; c < head.dv; ++c) rest += value[c] - value[c];
      if (rest != 0 || rest != rest || !hn::AllTrue(d, hn::Eq(wrong, hn::Zero(d)))) return true;
    }
    return false;
  }

  HWY_ATTR void add_values_guarded(std::int64_t first_key, std::int64_t keys) {
    const D d;
    const V minus_infinity = hn::Set(d, kMinusInfinity<float>);
    for (std::int64_t c = 0; c < head.dv; ++c) {
      for (int v = 0; v < kV; ++v) {
        float* const at = o + c * width + v * lanes();
        V total = hn::Load(d, at);
        for (std::int64_t j = 0; j < keys; ++j) {
          const V score = hn::Load(d, seen + j * width + v * lanes());
          const V p = hn::Load(d, s + j * width + v * lanes());
          const V added = hn::MulAdd(hn::Set(d, head.value(first_key + j)[c]), p, total);
          total = hn::IfThenElse(hn::Eq(score, minus_infinity), total, added);
        }
        hn::Store(total, d, at);
      }
    }
  }

  HWY_ATTR void key_tile(std::int64_t first_key, std::int64_t keys) {
    const bool masked = scores.make(first_key, keys);
    if (masked && any_value_not_finite(first_key, keys)) {
      for (std::int64_t at = 0; at < keys * width; ++at) seen[at] = s[at];
      exponentials(keys);
      add_values_guarded(first_key, keys);
      return;
    }
    exponentials(keys);
    product<kV, true>(head.dv, keys, head.value(first_key), 1, head.v_stride, s, o, width);
  }

  HWY_ATTR void finish(const HeadOutput<float>& output) {
    const D d;
    float* const state_max = seen;  // no longer needed for scores
    float* const state_sum = seen + width;
    for (int v = 0; v < kV; ++v) {
      const V empty = hn::Zero(d);
      const V inverse = hn::IfThenZeroElse(hn::Eq(sum[v], empty), hn::Div(hn::Set(d, 1.0f), sum[v]));
      for (std::int64_t c = 0; c < head.dv; ++c) {
        float* const at = o + c * width + v * lanes();
        hn::Store(hn::Mul(hn::Load(d, at), inverse), d, at);
      }
      // A NaN score may have been passed over by the maximum, but never by the sum.
      hn::Store(hn::IfThenElse(hn::Eq(sum[v], sum[v]), max[v], sum[v]), d, state_max + v * lanes());
      hn::Store(sum[v], d, state_sum + v * lanes());
    }
    columns_to_rows(o, width, scores.count, head.dv, output.out + scores.first * output.out_stride,
                    output.out_stride);
    for (std::int64_t i = 0; i < scores.count; ++i)
      output.set_state(scores.first + i, state_max[i], state_sum[i]);
  }

  HWY_ATTR void run(const HeadOutput<float>& output) {
    const D d;
    for (int v = 0; v < kV; ++v) {
      max[v] = hn::Set(d, head.sink);
      sum[v] = head.sink == kMinusInfinity<float> ? hn::Zero(d) : hn::Set(d, 1.0f);
    }
    for (std::int64_t at = 0; at < head.dv * width; at += lanes()) hn::Store(hn::Zero(d), d, o + at);
    const KeyRange keys = scores.keys();
    if (keys.begin < keys.end) scores.pack_queries();
    for (std::int64_t key = keys.begin; key < keys.end;) {
      const std::int64_t next = scores.next_tile(key, keys.end);
      key_tile(key, next - key);
      key = next;
    }
    finish(output);
  }
};

template <int kV>
HWY_ATTR void run_tile(const Head<float>& head, std::int64_t first, std::int64_t last,
                       const HeadOutput<float>& output, float* scratch) {
  if constexpr (kV > 1) {
    if (last - first <= (kV - 1) * lanes()) return run_tile<kV - 1>(head, first, last, output, scratch);
  }
  Tile<kV>(head, first, last - first, scratch).run(output);
}

HWY_ATTR void run(const Head<float>& head, std::int64_t first, std::int64_t last,
                  const HeadOutput<float>& output, float* scratch) {
  run_tile<kVectors>(head, first, last, output, scratch);
}

HWY_ATTR std::int64_t queries() { return tile_queries(); }

HWY_ATTR std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
  return Tile<kVectors>::scratch_size(d, dv);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(run);
HWY_EXPORT(queries);
HWY_EXPORT(scratch_size);

}  // namespace

std::int64_t fused_tile_queries() noexcept { return HWY_DYNAMIC_DISPATCH(queries)(); }

std::int64_t scratch_size_fused(std::int64_t d, std::int64_t dv) noexcept {
  return HWY_DYNAMIC_DISPATCH(scratch_size)(d, dv);
}

void attention_fused(const Head<float>& head, std::int64_t first, std::int64_t last,
                     const HeadOutput<float>& output, float* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(run)(head, first, last, output, scratch);
}

}  // namespace attend::kernels
#endif
