// The gradients of a tile of queries as gradient_tile-inl.h makes them, from products of bf16 numbers: what
// all instructions for these share. Queries are in lanes; weights and their changes are made in fp32 and
// rounded once, where they become factors:
//
//   P^T  = exp(S^T - max)
//   dP^T = (V dO^T - delta) / sum       pairs along the columns of V and dO
//   dS^T = P^T o dP^T
//   dV  += (P^T / sum) dO               pairs of queries: two lanes of a row of P^T lie side by side, rows of
//   dK  += (scale dS^T) Q               dO and Q are woven once a tile
//   dQ^T += K^T (scale dS^T)            pairs of keys: K is woven once for all tiles
#if defined(ATTEND_KERNELS_ATTENTION_GRADIENT_ROUNDED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_GRADIENT_ROUNDED_INL_H_
#undef ATTEND_KERNELS_ATTENTION_GRADIENT_ROUNDED_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_GRADIENT_ROUNDED_INL_H_
#endif

#include "kernels/attention/attention_backward_bf16.h"
#include "kernels/attention/gradient_block-inl.h"
#include "kernels/attention/gradient_weights-inl.h"
#include "kernels/attention/scratch_pieces.h"
#include "kernels/attention/woven_tile-inl.h"

#if ATTEND_BF16_PAIRS
ATTEND_BEFORE_BF16();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Two vectors rounded to bf16: to rows of numbers that are `width` apart, and woven.
HWY_INLINE Pairs store_rounded(V first, V second, std::uint16_t* rows, std::int64_t width) {
  const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.raw, first.raw));
  _mm256_store_si256(reinterpret_cast<__m256i*>(rows), _mm512_castsi512_si256(both));
  _mm256_store_si256(reinterpret_cast<__m256i*>(rows + width), _mm512_extracti64x4_epi64(both, 1));
  return woven_halves(both);
}

// Rows of a tile of queries as factors of a product over queries, and those of their elements that are not
// finite: these are left out of it, and added where their query sees the key.
struct QueryRows {
  const std::uint16_t* const rows;
  const std::int64_t stride, count, n, width = whole_vectors(n);
  std::int32_t* const pairs;  // (most / 2, width), 0 beyond count
  const std::int64_t most;
  bool finite = true;

  QueryRows(const std::uint16_t* from, std::int64_t apart, std::int64_t number, std::int64_t columns,
            std::int32_t* memory, std::int64_t tile)
      : rows(from), stride(apart), count(number), n(columns), pairs(memory), most(tile) {}

  void weave() {
    finite = weave_rows(rows, stride, count, n, pairs, width);
    std::fill(pairs + (count + 1) / 2 * width, pairs + most / 2 * width, 0);
    if (finite) return;
    auto* const numbers = reinterpret_cast<std::uint16_t*>(pairs);
    for (std::int64_t x = 0; x < (count + 1) / 2 * 2 * width; ++x) {
      if (!finite_bits(numbers[x])) numbers[x] = 0;
    }
  }

  // What weave() left out. seen: scores, -inf where a key takes no part; null: all do.
  HWY_NOINLINE void add_not_finite(std::int64_t keys, const std::uint16_t* factors, std::int64_t f_width,
                                   const float* seen, float* sums, std::int64_t sums_stride) const {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t c = 0; c < n; ++c) {
        const std::uint16_t bits = rows[i * stride + c];
        if (finite_bits(bits)) continue;
        for (std::int64_t j = 0; j < keys; ++j) {
          if (seen != nullptr && seen[j * f_width + i] == kMinusInfinity<float>) continue;
          sums[j * sums_stride + c] +=
              to_float(bfloat16{factors[j * f_width + i]}) * to_float(bfloat16{bits});
        }
      }
    }
  }
};

// Products: the struct that derives from this. It has kQueries, the queries whose rows are multiplied
// together, and kKeys, the keys of a tile; plain_tile(first_key, n), make_changes(first_key, n), which leaves
// dP^T / sum in ds, and add_products(first_key, n), the three last products of numbers that are finite.
template <class Products, int kV, class Scores, class Keys>
struct RoundedGradients {
  const BackwardHead& at;
  const BackwardOperands& in;
  const Head<float>& head = at.head;
  ScratchPieces scratch;
  Scores scores;
  const std::int64_t first = scores.first, count = scores.count, width = scores.width;
  GradientWeights<kV> weights;
  float* const p = weights.p;
  float* const ds = weights.ds;
  float* const dq;               // (columns of keys, width)
  float* const factor;           // (width): 1 / sum, and what dropout multiplies with
  float* const seen;             // (kGradientKeys, width): scores, kept where something is not finite
  std::uint16_t* const p_rows;   // (kGradientKeys, width): P^T / sum
  std::uint16_t* const ds_rows;  // (kGradientKeys, width): scale dS^T
  std::int32_t* const ds_pairs;  // (kGradientKeys / 2, width): the same in pairs of keys
  QueryRows o_rows, q_rows;
  Keys keys;
  const KeyBlock* wanted = nullptr;

  static std::int64_t scratch_size(std::int64_t d, std::int64_t dv) {
    const std::int64_t width = kV * lanes();
    const auto floats = ScratchPieces::floats_for<float>;
    return floats(Scores::scratch_size(d)) + floats(GradientWeights<kV>::scratch_size()) +
           floats((Keys::columns_for(d) + 1 + kGradientKeys) * width) +
           3 * floats(kGradientKeys / 2 * width) + floats(width / 2 * whole_vectors(dv)) +
           floats(width / 2 * whole_vectors(d)) + floats(Keys::scratch_size(d));
  }

  RoundedGradients(const BackwardHead& which, const BackwardOperands& operands, std::int64_t first_row,
                   std::int64_t rows, float* memory)
      : at(which),
        in(operands),
        scratch(memory),
        scores(operands.scores, first_row, rows, scratch.take<float>(Scores::scratch_size(which.head.d))),
        weights(which, first_row, rows, scores.s, scratch.take<float>(GradientWeights<kV>::scratch_size())),
        dq(scratch.take<float>((Keys::columns_for(head.d) + 1 + kGradientKeys) * width)),
        factor(dq + Keys::columns_for(head.d) * width),
        seen(factor + width),
        p_rows(scratch.take<std::uint16_t>(kGradientKeys * width)),
        ds_rows(scratch.take<std::uint16_t>(kGradientKeys * width)),
        ds_pairs(scratch.take<std::int32_t>(kGradientKeys / 2 * width)),
        o_rows(operands.d_out + first_row * operands.d_out_stride, operands.d_out_stride, rows, head.dv,
               scratch.take<std::int32_t>(width / 2 * whole_vectors(head.dv)), width),
        q_rows(operands.scores.q + first_row * operands.scores.q_stride, operands.scores.q_stride, rows,
               head.d, scratch.take<std::int32_t>(width / 2 * whole_vectors(head.d)), width),
        keys(operands.keys, head.d, scratch.take<float>(Keys::scratch_size(head.d))) {}

  bool wants_k() const { return wanted->k != nullptr; }
  bool wants_v() const { return wanted->v != nullptr; }

  void pack() {
    scores.pack_queries();
    weights.read_rows();
    for (std::int64_t i = 0; i < width; ++i) {
      factor[i] = i < count ? at.rows.inverse[first + i] * head.kept : 0;
    }
    if (wants_v()) o_rows.weave();
    if (wants_k()) q_rows.weave();
    std::fill_n(dq, keys.columns * width, 0.0f);
  }

  // Two rows of P^T / sum, and of scale dS^T.
  HWY_INLINE void keep_weights(V first_row, V second_row, std::int64_t j, int v) {
    store_rounded(first_row, second_row, p_rows + j * width + v * kLanes, width);
  }
  HWY_INLINE void keep_change(V first_row, V second_row, std::int64_t j, int v) {
    const Pairs pairs = store_rounded(first_row, second_row, ds_rows + j * width + v * kLanes, width);
    hn::Store(pairs, DI(), ds_pairs + j / 2 * width + v * kLanes);
  }

  void run(const KeyBlock& block) {
    wanted = &block;
    const KeyRange visible = scores.keys();
    const KeyRange range{std::max(visible.begin, block.keys.begin), std::min(visible.end, block.keys.end)};
    if (range.begin >= range.end) return;
    products().pack();
    for (std::int64_t key = range.begin; key < range.end;) {
      const std::int64_t next = std::min((key / Products::kKeys + 1) * Products::kKeys, range.end);
      key_tile(key, next - key);
      key = next;
    }
    if (at.q != nullptr) {
      add_columns_to_rows(dq, width, count, head.d, at.q + first * at.q_stride, at.q_stride);
    }
  }

 private:
  Products& products() { return static_cast<Products&>(*this); }

  void key_tile(std::int64_t first_key, std::int64_t n) {
    if (count % Products::kQueries == 0 && !head.dropout.drops_any() && scores.plain(first_key, n)) {
      products().plain_tile(first_key, n);
      keys.begin(first_key, n, false);
      if (keys.guarded) std::fill_n(seen, n * width, 0.0f);
      products().add_products(first_key, n);
      add_not_finite(first_key, n, nullptr);
    } else {
      keys.begin(first_key, n, tile_with_options(first_key, n));
      products().add_products(first_key, n);
      add_not_finite(first_key, n, seen);
    }
  }

  // The same as plain_tile(), step by step. Returns whether a key may take no part for some query.
  bool tile_with_options(std::int64_t first_key, std::int64_t n) {
    if (head.softcap != 0) {
      scores.make(first_key, n, Stage::capped);
      weights.make_slope(n);
    }
    bool masked = scores.make(first_key, n);
    products().make_changes(first_key, n);
    const std::int64_t whole = (count + Products::kQueries - 1) / Products::kQueries * Products::kQueries;
    if (count != whole) {  // lanes that are multiplied together with the last queries
      for (std::int64_t j = 0; j < n; ++j)
        std::fill(p + j * width + count, p + j * width + whole, kMinusInfinity<float>);
      masked = true;
    }
    if (keeps_scores(first_key)) std::copy_n(p, n * width, seen);
    weights.make(first_key, n, masked);
    round_tile(n);
    return masked;
  }

  void round_tile(std::int64_t n) {
    const D d;
    const V scale = hn::Set(d, head.scale);
    for (int v = 0; v < kV; ++v) {
      const V times = hn::Load(d, factor + v * kLanes);
      for (std::int64_t j = 0; j < n; j += 2) {
        const std::int64_t x = j * width + v * kLanes;
        const auto row = [&](const float* from, V by) ATTEND_BF16_ATTR {
          return j + 1 < n ? hn::Mul(hn::Load(d, from + x + width), by) : hn::Zero(d);
        };
        keep_weights(hn::Mul(hn::Load(d, p + x), times), row(p, times), j, v);
        keep_change(hn::Mul(hn::Load(d, ds + x), scale), row(ds, scale), j, v);
      }
    }
  }

  bool keeps_scores(std::int64_t first_key) const {
    return !o_rows.finite || !q_rows.finite || in.keys.finite[first_key / kWovenTile] == 0;
  }

  void add_not_finite(std::int64_t first_key, std::int64_t n, const float* scores_seen) {
    const std::int64_t row = first_key - wanted->keys.begin;
    if (wants_v() && !o_rows.finite) {
      o_rows.add_not_finite(n, p_rows, width, scores_seen, wanted->v + row * wanted->v_stride,
                            wanted->v_stride);
    }
    if (wants_k() && !q_rows.finite) {
      q_rows.add_not_finite(n, ds_rows, width, scores_seen, wanted->k + row * wanted->k_stride,
                            wanted->k_stride);
    }
    if (at.q != nullptr && keys.guarded) keys.add_not_finite(0, n, ds_pairs, seen, dq);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_BF16();
#endif  // ATTEND_BF16_PAIRS

#endif  // ATTEND_KERNELS_ATTENTION_GRADIENT_ROUNDED_INL_H_
