#include "cuda/weights.h"

#include <optional>
#include <vector>

#include "cuda/attention.h"
#include "cuda/error.h"
#include "cuda/hopper/summary.h"
#include "cuda/upload.h"

namespace attend::cuda {
namespace {

void refuse_f64(plugin::Place place, const plugin::Attention& call) {
  if (call.q.number == Number::f64)
    fail("computes f64 on the host only, and the tensors are on cuda:", place.device);
}

// The lists of a selection on the device, one upload for all of them.
class ChosenRows {
 public:
  ChosenRows(plugin::Place place, const plugin::Rows& rows) {
    const plugin::Indices* const lists[3] = {&rows.sequences, &rows.heads, &rows.rows};
    std::vector<std::int64_t> host;
    for (const plugin::Indices* const list : lists) {
      if (list->list != nullptr) host.insert(host.end(), list->list, list->list + list->count);
    }
    const std::int64_t* next = nullptr;
    if (!host.empty()) {
      memory_ = Scratch(place, host.size() * sizeof(std::int64_t));
      upload(place, memory_.data(), host.data(), host.size() * sizeof(std::int64_t));
      next = memory_.data<std::int64_t>();
    }
    const std::int64_t** const places[3] = {&chosen_.sequences, &chosen_.heads, &chosen_.rows};
    for (int x = 0; x < 3; ++x) {
      if (lists[x]->list == nullptr || lists[x]->count == 0) continue;
      *places[x] = next;
      next += lists[x]->count;
    }
    chosen_.sequence_count = rows.out.shape[0];
    chosen_.head_count = rows.out.shape[1];
    chosen_.row_count = rows.out.shape[2];
  }
  const Chosen& get() const { return chosen_; }

 private:
  Scratch memory_;
  Chosen chosen_;
};

constexpr int kWeightsStage = 3;  // numbered as Stage is

Placed target_of(const plugin::View& view, bool packed) {
  return view.data == nullptr ? Placed{} : placed(view, packed);
}

// A row state that the forward pass makes when the caller has none: with the keys as values, whose sums are thrown
// away. It takes less time than a pass by f32 multiply-adds.
class ForwardState {
 public:
  ForwardState(plugin::Place place, const plugin::Attention& call, const Problem& problem) {
    plugin::Attention forward = call;
    forward.v = call.k;
    forward.dv = call.d;
    forward.dropout = 0;
    Problem of_forward = problem;
    of_forward.v = problem.k;
    of_forward.dv = problem.d;
    std::int64_t rows = 1;
    plugin::View out = call.q, state = call.q;
    state.number = Number::f32;
    for (int axis = --state.rank - 1; axis >= 0; --axis) {
      state.strides[axis] = rows;
      out.strides[axis] = rows * call.d;
      rows *= call.q.shape[axis];
    }
    out.strides[state.rank] = 1;
    const auto count = static_cast<std::size_t>(rows);
    out_ = Scratch(place, count * static_cast<std::size_t>(call.d) * 2);
    max_ = Scratch(place, count * sizeof(float));
    sum_ = Scratch(place, count * sizeof(float));
    out.data = out_.data();
    state_ = {state, state};
    state_.max.data = max_.data();
    state_.sum.data = sum_.data();
    const bool packed = call.packed != 0;
    hopper_forward(place, forward, of_forward, {placed(out, packed), placed(state_.max, packed), placed(state_.sum, packed)});
    out_ = Scratch();
  }
  const plugin::RowState& get() const { return state_; }

 private:
  Scratch out_, max_, sum_;
  plugin::RowState state_;
};

bool by_hopper(plugin::Place place, const plugin::Attention& call) {
  return !portable_only() && hopper_summarizes(place, call) && call.k.data != nullptr && call.q.data != nullptr;
}

void summarize_by_hopper(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                         const plugin::RowState& given, const SummaryTarget& target) {
  std::optional<ForwardState> made;
  if (given.max.data == nullptr) made.emplace(place, call, problem);
  const plugin::RowState& state = made ? made->get() : given;
  SummaryTarget rest = target, fast = target;
  rest.entropy = rest.received = fast.map = {};
  (target.top_k <= kMostTop ? rest : fast).top_keys = {};
  if (fast.wants_rows() || fast.received.data != nullptr) hopper_summary(place, call, problem, state, fast);
  if (!rest.wants_rows() && rest.map.data == nullptr) return;
  const SettledRows settled(place, call);
  settle(place, call, problem, state, all_rows(call), settled.places());
  portable_row_summary(place, call, problem, settled.places(), rest);
  portable_map(place, call, problem, settled.places(), rest);
}

}  // namespace

void attention_rows(plugin::Place place, const plugin::Attention& call, const plugin::RowState& state,
                    const plugin::Rows& rows) {
  refuse_f64(place, call);
  if (rows.out.data == nullptr) return;
  const UploadedProblem uploaded(place, call);
  const ChosenRows chosen(place, rows);
  if (rows.stage != kWeightsStage) return portable_rows(place, uploaded.get(), rows.stage, chosen.get(), {}, rows.out);
  const SettledRows settled(place, chosen.get());
  settle(place, call, uploaded.get(), state, chosen.get(), settled.places());
  portable_rows(place, uploaded.get(), rows.stage, chosen.get(), settled.places(), rows.out);
}

void summarize_weights(plugin::Place place, const plugin::Attention& call, const plugin::RowState& state,
                       const plugin::Summary& summary) {
  refuse_f64(place, call);
  const bool packed = call.packed != 0;
  SummaryTarget target;
  target.top_keys = target_of(summary.top_keys, packed);
  target.top_weights = target_of(summary.top_weights, packed);
  target.entropy = target_of(summary.entropy, packed);
  target.received = target_of(summary.received, packed);
  target.map = target_of(summary.map, false);
  target.top_k = summary.top_k;
  target.map_rows = summary.map_rows;
  target.map_columns = summary.map_columns;
  target.map_is_max = summary.map_is_max != 0;
  const UploadedProblem uploaded(place, call);
  if (by_hopper(place, call)) return summarize_by_hopper(place, call, uploaded.get(), state, target);
  const SettledRows settled(place, call);
  settle(place, call, uploaded.get(), state, all_rows(call), settled.places());
  portable_row_summary(place, call, uploaded.get(), settled.places(), target);
  portable_received(place, call, uploaded.get(), settled.places(), target);
  portable_map(place, call, uploaded.get(), settled.places(), target);
}

}  // namespace attend::cuda
