// Chosen rows of one stage. The chosen queries are gathered into lanes, whatever their places, so that K is
// read once for all of them; the scores are transposed into the rows of the result, and what depends on a
// query's own place (bias, mask, position) and the softmax follow row by row, along the keys.
#include "kernels/attention/weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/stage_rows_fused.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention/stage_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels {
namespace HWY_NAMESPACE {

struct ChosenRows {
  const Head<float>& head;
  const RowStateInput<float>& state;
  const std::int64_t* queries;
  std::int64_t count;
  Stage stage;
  float* out;
  std::int64_t out_stride;

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

template <int kV>
HWY_ATTR void stage_tile(const ChosenRows& rows, float* scratch) {
  if constexpr (kV > 1) {
    if (rows.count <= (kV - 1) * lanes()) return stage_tile<kV - 1>(rows, scratch);
  }
  Head<float> gathered;  // every key, in no particular place
  gathered.queries = rows.count;
  gathered.keys = gathered.visible.key_count = rows.head.keys;
  gathered.d = gathered.q_stride = rows.head.d;
  gathered.k = rows.head.k;
  gathered.k_stride = rows.head.k_stride;
  gathered.scale = rows.head.scale;
  gathered.softcap = rows.head.softcap;
  float* const q = scratch + ScoreTile<kV>::scratch_size(gathered.d);
  gathered.q = q;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const float* const query = rows.head.query(rows.queries[i]);
    std::copy(query, query + gathered.d, q + i * gathered.d);
  }
  ScoreTile<kV> scores(gathered, 0, rows.count, scratch);
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
  stage_tile<kVectors>({head, state, queries, count, stage, out, out_stride}, scratch);
}

HWY_ATTR std::int64_t stage_queries() { return tile_queries(); }

HWY_ATTR std::int64_t stage_scratch(std::int64_t d) {
  return ScoreTile<kVectors>::scratch_size(d) + tile_queries() * d;
}

}  // namespace HWY_NAMESPACE
}  // namespace attend::kernels
HWY_AFTER_NAMESPACE();

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

std::int64_t stage_tile_queries() noexcept { return HWY_DYNAMIC_DISPATCH(stage_queries)(); }

std::int64_t scratch_size_stage_rows(std::int64_t d) noexcept {
  return HWY_DYNAMIC_DISPATCH(stage_scratch)(d);
}

}  // namespace attend::kernels
#endif
