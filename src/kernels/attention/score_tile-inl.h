// The scores of a tile of queries against a tile of keys, after scale, cap, bias and mask: what every kernel
// of attention starts from, whether it goes on to outputs, weights or gradients.
//
// Queries are in vector lanes: S^T = K Q^T is (keys, queries). K is read in place, one element broadcast to
// all lanes; Q^T is packed once. A lane's arithmetic is the same whoever its neighbours are.
#if defined(ATTEND_KERNELS_ATTENTION_SCORE_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ATTENTION_SCORE_TILE_INL_H_
#undef ATTEND_KERNELS_ATTENTION_SCORE_TILE_INL_H_
#else
#define ATTEND_KERNELS_ATTENTION_SCORE_TILE_INL_H_
#endif

#include <attend/stage.h>
#include <hwy/cache_control.h>

#include "kernels/attention/score_options-inl.h"
#include "kernels/simd/micro_kernel-inl.h"
#include "kernels/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

// Keys that are worked on together; tiles start at multiples of it, counted from the sequence's first key.
constexpr std::int64_t kKeyTile = 128;

// Keys that are added up together before they join a sum: 4 where sums are made from stored scores.
constexpr std::int64_t kKeyGroup = kManyRegisters ? kRows : 4;

HWY_INLINE std::int64_t tile_queries() { return kVectors * lanes(); }

// kV vectors of queries, [first, first + count) of the head.
template <int kV>
struct ScoreTile {
  const Head<float>& head;
  const std::int64_t first, count;
  const std::int64_t width = kV * lanes();
  float* const q;      // (d, width)
  float* const s;      // (kKeyTile, width)
  float* const extra;  // (kKeyTile, width): for the options

  static HWY_INLINE std::int64_t scratch_size(std::int64_t d) { return (d + 2 * kKeyTile) * kV * lanes(); }

  // scratch: scratch_size(head.d) floats, aligned to a vector.
  HWY_ATTR ScoreTile(const Head<float>& h, std::int64_t first_row, std::int64_t rows, float* scratch)
      : ScoreTile(h, first_row, rows, scratch, scratch + h.d * kV * lanes()) {}
  // The scores apart from the queries: tiles that take turns need room for them once.
  HWY_ATTR ScoreTile(const Head<float>& h, std::int64_t first_row, std::int64_t rows, float* queries,
                     float* room)
      : head(h), first(first_row), count(rows), q(queries), s(room), extra(s + kKeyTile * width) {}

  // Ranges move with the query, so the first row's begin and the last row's end enclose them all. The begin
  // is rounded down to the group of keys it falls in, so that a key's place in its group depends on the key
  // alone.
  KeyRange keys() const {
    const std::int64_t begin = head.visible.keys_of(first).begin;
    return {begin - begin % kKeyTile % kKeyGroup, head.visible.keys_of(first + count - 1).end};
  }
  // Where the tile that holds `key` ends.
  static std::int64_t next_tile(std::int64_t key, std::int64_t end) {
    return std::min((key / kKeyTile + 1) * kKeyTile, end);
  }

  HWY_ATTR void pack_queries() {
    rows_to_columns(head.query(first), head.q_stride, count, head.d, head.scale, q, width);
  }

  // Whether the scores of these keys are nothing but products: no option changes one of them.
  bool plain(std::int64_t first_key, std::int64_t n) const {
    return head.softcap == 0 && head.alibi_slope == 0 && head.bias == nullptr && head.mask == nullptr &&
           !partial(first_key, n);
  }

  // Fills s with the scores of keys [first_key, first_key + n). Stage::weights is taken as biased. True when
  // a key may take no part for some query: its score is then -inf.
  HWY_ATTR bool make(std::int64_t first_key, std::int64_t n, Stage stage = Stage::biased) {
    const bool cut =
        !kManyRegisters && stage != Stage::scores && stage != Stage::capped && partial(first_key, n);
    if (cut) {  // what no query of a vector sees is overwritten below
      for_each_sight<kV>(first_key, 0, n, [&]<int kSeeing>(std::int64_t begin, std::int64_t end) HWY_ATTR {
        const std::int64_t lane = (kV - kSeeing) * lanes();
        product<kSeeing, false>(end - begin, head.d, head.key(first_key + begin), head.k_stride, 1, q + lane,
                                s + begin * width + lane, width);
      });
    } else {
      product<kV, false>(n, head.d, head.key(first_key), head.k_stride, 1, q, s, width);
    }
    return apply_options(first_key, n, stage);
  }

  // The same for products that are in s already.
  HWY_ATTR bool apply_options(std::int64_t first_key, std::int64_t n, Stage stage = Stage::biased) {
    if (stage == Stage::scores) return false;
    const ScoredTile tile{head, first, count, first_key, n, width, s, extra};
    if (head.softcap != 0) apply_cap(tile);
    if (stage == Stage::capped) return false;
    if (head.alibi_slope != 0) add_alibi(tile);
    if (head.bias != nullptr) add_bias(tile);
    if (head.mask != nullptr) apply_mask(tile);
    const bool cut = partial(first_key, n);
    if (cut) apply_range(tile);
    return cut || head.mask != nullptr || head.bias != nullptr;
  }

  // body.template operator()<kSeeing>(begin, end) for what is left of keys [begin, n): keys that no query of
  // the first kV - kSeeing vectors sees. Towards the diagonal of a causal tile fewer and fewer vectors see a
  // key, and those that do not can be passed over. Cuts are at multiples of kStep keys.
  template <int kSeeing, int kStep = 1, class Body>
  HWY_ATTR void for_each_sight(std::int64_t first_key, std::int64_t begin, std::int64_t n,
                               const Body& body) const {
    std::int64_t end = n;
    if constexpr (kSeeing > 1) {
      const std::int64_t last_lane = std::min((kV - kSeeing + 1) * lanes(), count) - 1;
      const std::int64_t unseen = head.visible.keys_of(first + last_lane).end - first_key;
      end = std::clamp<std::int64_t>((unseen + kStep - 1) / kStep * kStep, begin, n);
    }
    if (begin < end) body.template operator()<kSeeing>(begin, end);
    if constexpr (kSeeing > 1) {
      if (end < n) for_each_sight<kSeeing - 1, kStep>(first_key, end, n, body);
    }
  }

  // body.template operator()<kR>(j, scores) for blocks of kR keys, key j of the tile first, while the
  // scores are in registers. Only for plain tiles: nothing is applied to the products, nor stored.
  template <class Body>
  HWY_ATTR HWY_INLINE void for_each_plain_block(std::int64_t first_key, std::int64_t n, const Body& body) {
    const float* const k = head.key(first_key);
    for_each_block<rows_beside(kV)>(n, [&]<int kR>(std::int64_t j) HWY_ATTR {
      if (head.unread) {
        prefetch_rows(head.k, head.k_stride, head.d, first_key + j + kR);
        prefetch_rows(head.v, head.v_stride, head.dv, first_key + j);
      }
      Slot acc[kR][kV];
      clear_block(acc);
      accumulate(acc, head.d, k + j * head.k_stride, head.k_stride, 1, q, width);
      body.template operator()<kR>(j, acc);
    });
  }

 private:
  // A block of rows that comes next: rows are short, and their beginnings are not foreseen by the machine.
  HWY_INLINE void prefetch_rows(const float* rows, std::int64_t stride, std::int64_t n, std::int64_t from) {
    const std::int64_t end = std::min<std::int64_t>(from + rows_beside(kV), head.keys);
    for (std::int64_t r = from; r < end; ++r) {
      for (std::int64_t c = 0; c < n; c += 16) hwy::Prefetch(rows + r * stride + c);
    }
  }

  // Whether a query of the tile does not see all of these keys.
  bool partial(std::int64_t first_key, std::int64_t n) const {
    return head.visible.keys_of(first + count - 1).begin > first_key ||
           head.visible.keys_of(first).end < first_key + n;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#endif  // ATTEND_KERNELS_ATTENTION_SCORE_TILE_INL_H_
