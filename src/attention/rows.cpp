// Chosen rows of one stage: the lists of a selection, cut into tiles of queries.
#include <algorithm>
#include <numeric>
#include <vector>

#include "attention/forward_bf16.h"
#include "attention/given_row_state.h"
#include "attention/on_demand.h"
#include "attention/score_operands.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/attention/attention_amx.h"
#include "kernels/attention/attention_reference.h"
#include "kernels/attention/weights.h"
#include "kernels/isa.h"

namespace attend::detail {
namespace {

struct FusedRows {
  using Number = float;
  using Operands = ScoreOperands;
  static std::int64_t tile(const Layout& layout) {
    if (computes_in_tiles(layout)) return kernels::amx_tile_queries();
    kernels::require_isa();
    return kernels::stage_tile_queries();
  }
  static std::int64_t scratch(const Layout& layout) { return kernels::scratch_size_stage_rows(layout.d); }
  template <class Head>
  static void run(const Head& head, const kernels::RowStateInput<float>& state, const std::int64_t* queries,
                  std::int64_t count, Stage stage, float* out, std::int64_t out_stride,
                  float* scratch) noexcept {
    kernels::stage_rows_fused(head, state, queries, count, stage, out, out_stride, scratch);
  }
};

struct ReferenceRows {
  using Number = double;
  using Operands = ReferenceOperands;
  static std::int64_t tile(const Layout&) { return 1; }
  static std::int64_t scratch(const Layout&) { return 0; }
  static void run(const kernels::Head<double>& head, const kernels::RowStateInput<double>& state,
                  const std::int64_t* queries, std::int64_t, Stage stage, double* out, std::int64_t,
                  double*) noexcept {
    if (stage != Stage::weights || state.max == nullptr) {
      return kernels::stage_row_reference(head, *queries, stage, out);
    }
    kernels::stage_row_reference(head, *queries, Stage::biased, out);
    const kernels::RowStatistics row{state.max[*queries * state.max_stride],
                                     state.sum[*queries * state.sum_stride]};
    for (std::int64_t j = 0; j < head.keys; ++j) out[j] = kernels::weight_reference(out[j], row);
  }
};

std::int64_t chosen(const Indices& indices, std::int64_t place) {
  return indices.is_all() ? place : indices.list()[static_cast<std::size_t>(place)];
}

template <class Kernel>
void rows(const Layout& layout, ConstTensorView q, ConstTensorView k, const AttentionOptions& options,
          Stage stage, const RowSelection& selection, ConstRowStateView row_state, TensorView out) {
  using T = typename Kernel::Number;
  if (out.count() == 0) return;
  const typename Kernel::Operands problem(layout, q, k, options);
  const GivenRowState<T> given(row_state, layout.packed);
  std::vector<std::int64_t> queries(static_cast<std::size_t>(out.size(2)));
  std::iota(queries.begin(), queries.end(), 0);
  if (!selection.rows.is_all()) queries = selection.rows.list();
  T* const data = out.data<T>();
  const std::int64_t width = out.size(3), tile = Kernel::tile(layout);
  const std::int64_t tiles = (out.size(2) + tile - 1) / tile;
  const std::int64_t tasks = out.size(0) * out.size(1) * tiles;
  const int lanes = lanes_for(tasks);
  const LaneScratch<T> scratch(lanes, Kernel::scratch(layout));

  parallel_for(tasks, lanes, [&](std::int64_t index, int lane) noexcept {
    const std::int64_t first = index % tiles * tile, count = std::min(tile, out.size(2) - first);
    const std::int64_t h = chosen(selection.heads, index / tiles % out.size(1));
    const std::int64_t s = chosen(selection.sequences, index / tiles / out.size(1));
    T* const target = data + (index / tiles * out.size(2) + first) * width;
    const auto state = given.of(s, problem.sequence(s).query_begin, h);
    problem.with_head(s, h, [&](const auto& head) noexcept {
      Kernel::run(head, state, queries.data() + first, count, stage, target, width, scratch.of(lane));
    });
    for (std::int64_t i = 0; i < count; ++i) {
      std::fill(target + i * width + problem.sequence(s).keys, target + (i + 1) * width,
                stage == Stage::weights ? T(0) : kernels::kMinusInfinity<T>);
    }
  });
}

}  // namespace

void rows_fused(const Layout& layout, ConstTensorView q, ConstTensorView k, const AttentionOptions& options,
                Stage stage, const RowSelection& selection, ConstRowStateView row_state, TensorView out) {
  rows<FusedRows>(layout, q, k, options, stage, selection, row_state, out);
}

void rows_reference(const Layout& layout, ConstTensorView q, ConstTensorView k,
                    const AttentionOptions& options, Stage stage, const RowSelection& selection,
                    ConstRowStateView row_state, TensorView out) {
  rows<ReferenceRows>(layout, q, k, options, stage, selection, row_state, out);
}

}  // namespace attend::detail
