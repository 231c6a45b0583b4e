// Summaries of the weights of every row. The queries of a head are cut into chunks, by their number alone.
// What belongs to a row is written by its chunk; what adds up over rows is a partial result of each chunk,
// and the partial results are added in the order of the chunks: threads and batch change no bit.
#include <algorithm>
#include <vector>

#include "attention/forward_bf16.h"
#include "attention/given_row_state.h"
#include "attention/on_demand.h"
#include "attention/score_operands.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/attention/attention_amx.h"
#include "kernels/attention/weights.h"
#include "kernels/isa.h"

namespace attend::detail {
namespace {

struct FusedSummary {
  using Number = float;
  using Operands = ScoreOperands;
  static std::int64_t tile(const Layout& layout) {
    if (computes_in_tiles(layout)) return kernels::amx_tile_queries();
    kernels::require_isa();
    return kernels::summary_tile_queries();
  }
  static std::int64_t scratch(const Layout& layout, const WeightsRequest& request) {
    return kernels::scratch_size_summary(layout.d, std::min(request.top_k, layout.longest_keys));
  }
  template <class Head>
  static void run(const Head& head, const kernels::RowStateInput<float>& state, std::int64_t first,
                  std::int64_t last, const kernels::SummaryTarget<float>& target, float* scratch) noexcept {
    kernels::summarize_fused(head, state, first, last, target, scratch);
  }
};

struct ReferenceSummary {
  using Number = double;
  using Operands = ReferenceOperands;
  static std::int64_t tile(const Layout&) { return 16; }
  static std::int64_t scratch(const Layout& layout, const WeightsRequest&) { return layout.longest_keys; }
  static constexpr auto run = kernels::summarize_reference;
};

// At least 8 tiles of queries, so that partial results are small beside the work; at most 32 chunks, so that
// they stay O(n).
constexpr std::int64_t kTilesPerChunk = 8, kMostChunks = 32;
// Partial results that exist at one time, in numbers; heads are taken in groups where theirs would be more.
// 32 MiB.
constexpr std::int64_t kMostPartial = 1 << 22;

struct Chunk {
  std::int64_t sequence, head, first, last;
  std::int64_t first_cell, cells;            // rows of the map that it touches
  std::int64_t received_at = 0, map_at = 0;  // its partial results
};

// Some heads, all of whose chunks are carried out before their partial results are added up.
struct HeadGroup {
  struct Head {
    std::int64_t sequence, head;
    std::size_t first_chunk, last_chunk;
  };
  std::vector<Head> heads;
  std::vector<Chunk> chunks;
  std::int64_t partial = 0;
};

template <class Kernel>
class Summarizer {
  using T = typename Kernel::Number;

 public:
  Summarizer(const Layout& layout, ConstTensorView q, ConstTensorView k, const AttentionOptions& options,
             const WeightsRequest& request, ConstRowStateView row_state, WeightsSummary& summary)
      : layout_(layout),
        request_(request),
        problem_(layout, q, k, options),
        given_(row_state, layout.packed),
        summary_(summary),
        tile_(Kernel::tile(layout)),
        scratch_size_(Kernel::scratch(layout, request)) {}

  void run() {
    HeadGroup group;
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(layout_.sequences.size()); ++s) {
      for (std::int64_t h = 0; h < layout_.query_heads; ++h) {
        add_head(group, s, h);
        if (group.partial < kMostPartial) continue;
        carry_out(group);
        group = {};
      }
    }
    if (!group.heads.empty()) carry_out(group);
  }

 private:
  bool wants_map() const { return request_.map_rows > 0; }
  // A map larger than the matrix is computed at the size of the matrix, and its cells are repeated.
  kernels::Cells rows(std::int64_t s) const {
    return {problem_.sequence(s).queries, std::min(request_.map_rows, problem_.sequence(s).queries)};
  }
  kernels::Cells columns(std::int64_t s) const {
    return {problem_.sequence(s).keys, std::min(request_.map_columns, problem_.sequence(s).keys)};
  }

  void add_head(HeadGroup& group, std::int64_t s, std::int64_t h) const {
    const SequenceLayout& sequence = problem_.sequence(s);
    const std::int64_t tiles = (sequence.queries + tile_ - 1) / tile_;
    const std::int64_t step = tile_ * std::max(kTilesPerChunk, (tiles + kMostChunks - 1) / kMostChunks);
    const std::size_t first_chunk = group.chunks.size();
    for (std::int64_t first = 0; first < sequence.queries; first += step) {
      Chunk chunk{s, h, first, std::min(first + step, sequence.queries), 0, 0};
      if (request_.received) {
        chunk.received_at = group.partial;
        group.partial += sequence.keys;
      }
      if (wants_map() && sequence.keys > 0) {
        chunk.first_cell = rows(s).holding(chunk.first);
        chunk.cells = rows(s).holding(chunk.last - 1) - chunk.first_cell + 1;
        chunk.map_at = group.partial;
        group.partial += chunk.cells * columns(s).count;
      }
      group.chunks.push_back(chunk);
    }
    group.heads.push_back({s, h, first_chunk, group.chunks.size()});
  }

  void carry_out(const HeadGroup& group) {
    Tensor partial(DType::f64, {group.partial});
    double* const sums = partial.values<double>().data();
    const auto count = static_cast<std::int64_t>(group.chunks.size());
    const int lanes = lanes_for(count);
    const LaneScratch<T> scratch(lanes, scratch_size_);
    // Last chunks first: with causal attention they are the long ones.
    parallel_for(count, lanes, [&](std::int64_t index, int lane) noexcept {
      const Chunk& chunk = group.chunks[static_cast<std::size_t>(count - 1 - index)];
      const std::int64_t row = problem_.sequence(chunk.sequence).query_begin;
      for (std::int64_t first = chunk.first; first < chunk.last && !abandoned(); first += tile_) {
        problem_.with_head(chunk.sequence, chunk.head, [&](const auto& head) noexcept {
          Kernel::run(head, given_.of(chunk.sequence, row, chunk.head), first,
                      std::min(first + tile_, chunk.last), target(chunk, sums), scratch.of(lane));
        });
      }
    });
    if (request_.received) {
      parallel_for(static_cast<std::int64_t>(group.heads.size()), [&](std::int64_t index, int) noexcept {
        add_received(group, group.heads[static_cast<std::size_t>(index)], sums);
      });
    }
    if (wants_map()) {
      const auto map_rows = static_cast<std::int64_t>(group.heads.size()) * request_.map_rows;
      parallel_for(map_rows, [&](std::int64_t index, int) noexcept {
        const HeadGroup::Head& head = group.heads[static_cast<std::size_t>(index / request_.map_rows)];
        fill_map_row(group, head, index % request_.map_rows, sums);
      });
    }
  }

  kernels::SummaryTarget<T> target(const Chunk& chunk, double* sums) const {
    kernels::SummaryTarget<T> target;
    const std::int64_t s = chunk.sequence, row = problem_.sequence(s).query_begin;
    if (request_.top_k > 0) {
      TensorView keys = summary_.top_keys.view(), weights = summary_.top_weights.view();
      const Placement place(keys, layout_.packed);
      target.top_k = request_.top_k;
      target.top_keys = keys.data<std::int64_t>() + place.offset(s, row, chunk.head);
      target.top_weights = weights.data<T>() + place.offset(s, row, chunk.head);
      target.top_stride = place.row_stride;
    }
    if (request_.entropy) {
      TensorView entropy = summary_.entropy.view();
      const Placement place(entropy, layout_.packed);
      target.entropy = entropy.data<T>() + place.offset(s, row, chunk.head);
      target.entropy_stride = place.row_stride;
    }
    if (request_.received) target.received = sums + chunk.received_at;
    if (chunk.cells > 0) {
      target.map = sums + chunk.map_at;
      target.map_is_max = request_.map_reduction == MapReduction::max;
      target.rows = rows(s);
      target.columns = columns(s);
      target.first_cell = chunk.first_cell;
    }
    return target;
  }

  void add_received(const HeadGroup& group, const HeadGroup::Head& head, const double* sums) const noexcept {
    const SequenceLayout& sequence = problem_.sequence(head.sequence);
    if (sequence.keys == 0) return;  // where no sequence has keys there is no memory to point into
    TensorView received = summary_.received.view();
    const Placement place(received, layout_.packed);
    T* const out = received.data<T>() + place.offset(head.sequence, sequence.key_begin, head.head);
    for (std::int64_t j = 0; j < sequence.keys; ++j) {
      double sum = 0;
      for (std::size_t c = head.first_chunk; c < head.last_chunk; ++c) {
        sum += sums[group.chunks[c].received_at + j];
      }
      out[j * place.row_stride] = static_cast<T>(sum);
    }
  }

  void fill_map_row(const HeadGroup& group, const HeadGroup::Head& head, std::int64_t r,
                    const double* sums) const noexcept {
    const kernels::Cells rows = this->rows(head.sequence), columns = this->columns(head.sequence);
    if (rows.count == 0 || columns.count == 0) return;
    // Where a map has more cells than the axis has indices, each shows one index.
    const std::int64_t row = request_.map_rows > rows.count ? r * rows.length / request_.map_rows : r;
    const bool columns_repeat = request_.map_columns > columns.count;
    const double* parts[kMostChunks];
    std::size_t count = 0;
    for (std::size_t i = head.first_chunk; i < head.last_chunk; ++i) {
      const Chunk& chunk = group.chunks[i];
      if (row < chunk.first_cell || row >= chunk.first_cell + chunk.cells) continue;
      parts[count++] = sums + chunk.map_at + (row - chunk.first_cell) * columns.count;
    }
    TensorView map = summary_.map.view();
    T* const out =
        map.data<T>() + head.sequence * map.stride(0) + head.head * map.stride(1) + r * map.stride(2);
    const bool is_max = request_.map_reduction == MapReduction::max;
    const std::int64_t height = rows.end(row) - rows.begin(row);
    kernels::CellWalk walk(columns.length, request_.map_columns);
    for (std::int64_t c = 0; c < request_.map_columns; ++c, walk.advance()) {
      const std::int64_t column = columns_repeat ? walk.begin() : c;
      double value = 0;
      for (std::size_t i = 0; i < count; ++i) {
        value = is_max ? kernels::larger(value, parts[i][column]) : value + parts[i][column];
      }
      const std::int64_t area = height * (columns_repeat ? 1 : walk.next() - walk.begin());
      out[c] = static_cast<T>(is_max ? value : value / static_cast<double>(area));
    }
  }

  const Layout& layout_;
  const WeightsRequest& request_;
  const typename Kernel::Operands problem_;
  const GivenRowState<T> given_;
  WeightsSummary& summary_;
  const std::int64_t tile_, scratch_size_;
};

}  // namespace

void summarize_fused(const Layout& layout, ConstTensorView q, ConstTensorView k,
                     const AttentionOptions& options, const WeightsRequest& request,
                     ConstRowStateView row_state, WeightsSummary& summary) {
  Summarizer<FusedSummary>(layout, q, k, options, request, row_state, summary).run();
}

void summarize_reference(const Layout& layout, ConstTensorView q, ConstTensorView k,
                         const AttentionOptions& options, const WeightsRequest& request,
                         ConstRowStateView row_state, WeightsSummary& summary) {
  Summarizer<ReferenceSummary>(layout, q, k, options, request, row_state, summary).run();
}

}  // namespace attend::detail
