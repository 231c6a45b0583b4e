// Chosen rows of one stage. The chosen queries are gathered into lanes, whatever their places, so that K is
// read once for all of them; the scores are transposed into the rows of the result, and what depends on a
// query's own place (bias, mask, position) and the softmax follow row by row, along the keys.
#include "kernels/attention/weights.h"

#include "kernels/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/stage_rows_fused.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention/amx_scores-inl.h"
#include "kernels/attention/pair_scores-inl.h"
#include "kernels/attention/stage_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

template <class AnyHead>
struct ChosenRows {
  const AnyHead& given;
  const RowStateInput<float>& state;
  const std::int64_t* queries;
  std::int64_t count;
  Stage stage;
  float* out;
  std::int64_t out_stride;
  const Head<float>& head = options_of(given);

  bool by_position() const { return stage == Stage::biased || stage == Stage::weights; }
  // Keys that some chosen query may see.
  KeyRange keys() const {
    if (!by_position()) return {0, head.keys};
    KeyRange all{head.keys, 0};
    for (std::int64_t i = 0; i < count; ++i) {
      const KeyRange own = head.visible.keys_of(queries[i]);
      if (own.begin >= own.end) continue;
      all = {std::min(all.begin, own.begin), std::max(all.end, own.end)};
    }
    return all;
  }
};

// The chosen queries side by side, against every key: no place of their own.
HWY_ATTR inline Head<float> without_places(const Head<float>& head, std::int64_t count) {
  Head<float> gathered;
  gathered.queries = count;
  gathered.keys = gathered.visible.key_count = head.keys;
  gathered.d = head.d;
  gathered.scale = head.scale;
  gathered.softcap = head.softcap;
  return gathered;
}
template <class T>
HWY_ATTR void gather(const T* rows, std::int64_t stride, const std::int64_t* queries, std::int64_t count,
                     std::int64_t n, T* to) {
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(rows + queries[i] * stride, n, to + i * n);
}
HWY_ATTR inline Head<float> gathered_rows(const ChosenRows<Head<float>>& rows, float* memory) {
  Head<float> gathered = without_places(rows.head, rows.count);
  gather(rows.head.q, rows.head.q_stride, rows.queries, rows.count, rows.head.d, memory);
  gathered.q = memory;
  gathered.q_stride = rows.head.d;
  gathered.k = rows.head.k;
  gathered.k_stride = rows.head.k_stride;
  return gathered;
}
HWY_ATTR inline HeadBf16 gathered_rows(const ChosenRows<HeadBf16>& rows, float* memory) {
  auto* const q = reinterpret_cast<std::uint16_t*>(memory);
  const std::int64_t n = (rows.head.d + 1) / 2 * 2;
  gather(rows.given.q, rows.given.q_stride, rows.queries, rows.count, n, q);
  return {without_places(rows.head, rows.count), q, rows.given.k, n, rows.given.k_stride};
}

template <int kV, template <int> class Scores, class AnyHead>
HWY_ATTR void stage_tile(const ChosenRows<AnyHead>& rows, float* scratch) {
  if constexpr (kV > 1) {
    if (rows.count <= (kV - 1) * lanes()) return stage_tile<kV - 1, Scores>(rows, scratch);
  }
  const AnyHead gathered = gathered_rows(rows, scratch + Scores<kV>::scratch_size(rows.head.d));
  Scores<kV> scores(gathered, 0, rows.count, scratch);
  const KeyRange keys = rows.keys();
  if (keys.begin < keys.end) scores.pack_queries();
  for (std::int64_t key = keys.begin; key < keys.end;) {
    const std::int64_t next = scores.next_tile(key, keys.end);
    scores.make(key, next - key, rows.stage == Stage::scores ? Stage::scores : Stage::capped);
    columns_to_rows(scores.s, scores.width, rows.count, next - key, rows.out + key, rows.out_stride);
    key = next;
  }
  if (!rows.by_position()) return;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    float* const row = rows.out + i * rows.out_stride;
    bias_row(rows.head, rows.queries[i], row);
    if (rows.stage == Stage::weights) weigh_row(rows.head, rows.state, rows.queries[i], row);
  }
}

HWY_ATTR void run_stage_rows(const Head<float>& head, const RowStateInput<float>& state,
                             const std::int64_t* queries, std::int64_t count, Stage stage, float* out,
                             std::int64_t out_stride, float* scratch) {
  const ChosenRows<Head<float>> rows{head, state, queries, count, stage, out, out_stride};
  stage_tile<kVectors, ScoreTile>(rows, scratch);
}
#if ATTEND_BF16_PAIRS
HWY_ATTR void run_stage_rows_of_pairs(const HeadBf16& head, const RowStateInput<float>& state,
                                      const std::int64_t* queries, std::int64_t count, Stage stage,
                                      float* out, std::int64_t out_stride, float* scratch) {
  const ChosenRows<HeadBf16> rows{head, state, queries, count, stage, out, out_stride};
  stage_tile<kVectors, PairScores>(rows, scratch);
}
#endif

HWY_ATTR std::int64_t stage_queries() { return tile_queries(); }

HWY_ATTR std::int64_t stage_scratch(std::int64_t d) {
  return ScoreTile<kVectors>::scratch_size(d) + tile_queries() * (d + 1);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

#if ATTEND_AMX
ATTEND_BEFORE_AMX();
namespace attend::kernels {
namespace HWY_NAMESPACE {

void run_stage_rows_of_tiles(const HeadBf16& head, const RowStateInput<float>& state,
                             const std::int64_t* queries, std::int64_t count, Stage stage, float* out,
                             std::int64_t out_stride, float* scratch) {
  const TileScope tiles;
  const ChosenRows<HeadBf16> rows{head, state, queries, count, stage, out, out_stride};
  stage_tile<kAmxVectors, AmxScores>(rows, scratch);
}

std::int64_t stage_scratch_of_tiles(std::int64_t d) {
  return AmxScores<kAmxVectors>::scratch_size(d) + kAmxVectors * kTileRows * (d + 1);
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
ATTEND_AFTER_AMX();
#endif  // ATTEND_AMX

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(run_stage_rows);
HWY_EXPORT(stage_queries);
HWY_EXPORT(stage_scratch);

}  // namespace

void stage_rows_fused(const Head<float>& head, const RowStateInput<float>& state, const std::int64_t* queries,
                      std::int64_t count, Stage stage, float* out, std::int64_t out_stride,
                      float* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(run_stage_rows)(head, state, queries, count, stage, out, out_stride, scratch);
}

void stage_rows_fused([[maybe_unused]] const HeadBf16& head,
                      [[maybe_unused]] const RowStateInput<float>& state,
                      [[maybe_unused]] const std::int64_t* queries, [[maybe_unused]] std::int64_t count,
                      [[maybe_unused]] Stage stage, [[maybe_unused]] float* out,
                      [[maybe_unused]] std::int64_t out_stride, [[maybe_unused]] float* scratch) noexcept {
#if ATTEND_AMX_TARGETS
  if (has_extension(Extension::amx))
    return bf16_set::run_stage_rows_of_tiles(head, state, queries, count, stage, out, out_stride, scratch);
#endif
#if HWY_TARGETS & ATTEND_BF16_TARGETS
  bf16_set::run_stage_rows_of_pairs(head, state, queries, count, stage, out, out_stride, scratch);
#endif
}

std::int64_t stage_tile_queries() noexcept { return HWY_DYNAMIC_DISPATCH(stage_queries)(); }

std::int64_t scratch_size_stage_rows(std::int64_t d) noexcept {
  std::int64_t size = HWY_DYNAMIC_DISPATCH(stage_scratch)(d);
#if ATTEND_AMX_TARGETS
  if (has_extension(Extension::amx)) size = std::max(size, bf16_set::stage_scratch_of_tiles(d));
#endif
  return size;
}

}  // namespace attend::kernels
#endif
