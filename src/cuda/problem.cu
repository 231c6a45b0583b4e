#include <cstring>
#include <vector>

#include "cuda/error.h"
#include "cuda/problem.h"
#include "cuda/upload.h"

namespace attend::cuda {
namespace {

bool equal(const Sequence& a, const Sequence& b) {
  return a.query_begin == b.query_begin && a.key_begin == b.key_begin && a.queries == b.queries &&
         a.keys == b.keys && a.key_count == b.key_count && a.query_offset == b.query_offset;
}

bool all_alike(const plugin::Attention& call) {
  for (std::int64_t s = 1; s < call.sequence_count; ++s) {
    if (!equal(call.sequences[0], call.sequences[s])) return false;
  }
  return true;
}

}  // namespace

int size_of(Number number) {
  switch (number) {
    case Number::f64:
    case Number::i64:
      return 8;
    case Number::f32:
      return 4;
    case Number::boolean:
      return 1;
    default:
      return 2;
  }
}

Placed placed(const plugin::View& view, bool packed) {
  Placed result;
  result.data = static_cast<char*>(view.data);
  result.number = view.number;
  const int rows = packed ? 0 : 2, elements = packed ? 2 : 3;
  result.sequence = packed ? 0 : view.strides[0];
  result.head = view.strides[1];
  result.row = view.strides[rows];
  result.element = view.rank > elements ? view.strides[elements] : 0;
  return result;
}

PlacedBroadcast broadcast(const plugin::View& view) {
  PlacedBroadcast result;
  result.data = static_cast<char*>(view.data);
  result.number = view.number;
  std::int64_t* const places[4] = {&result.sequence, &result.head, &result.row, &result.element};
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.shape[axis] != 1) *places[4 - view.rank + axis] = view.strides[axis];
  }
  return result;
}

UploadedProblem::UploadedProblem(plugin::Place place, const plugin::Attention& call) {
  Problem& p = problem_;
  p.q = placed(call.q, call.packed != 0);
  p.k = placed(call.k, call.packed != 0);
  if (call.v.data != nullptr) p.v = placed(call.v, call.packed != 0);
  p.mask = broadcast(call.mask);
  p.bias = broadcast(call.bias);
  p.heads = static_cast<std::int32_t>(call.query_heads);
  p.group = static_cast<std::int32_t>(call.key_heads == 0 ? 1 : call.query_heads / call.key_heads);
  p.packed = call.packed;
  p.d = call.d;
  p.dv = call.dv;
  p.scale = static_cast<float>(call.scale);
  p.softcap = static_cast<float>(call.softcap);
  p.causal = call.causal;
  p.window_left = call.window_left;
  p.window_right = call.window_right;
  if (call.dropout != 0) {
    p.coin_threshold = coin_threshold(call.dropout);
    p.kept = static_cast<float>(1 / (1 - call.dropout));
    p.dropout_seed = call.dropout_seed;
  }
  if (call.sequence_count > 0) p.same = call.sequences[0];

  // One upload for all lists: sequences, slopes, sinks.
  const bool lists_sequences = !all_alike(call);
  const auto heads = static_cast<std::size_t>(call.query_heads);
  const std::size_t sequence_bytes =
      lists_sequences ? static_cast<std::size_t>(call.sequence_count) * sizeof(Sequence) : 0;
  const std::size_t slope_bytes = call.alibi_slopes == nullptr ? 0 : heads * sizeof(float);
  const std::size_t sink_bytes = call.sinks == nullptr ? 0 : heads * sizeof(float);
  const std::size_t bytes = sequence_bytes + slope_bytes + sink_bytes;
  if (bytes == 0) return;
  std::vector<char> host(bytes);
  if (lists_sequences) std::memcpy(host.data(), call.sequences, sequence_bytes);
  for (std::size_t h = 0; h < heads; ++h) {
    if (slope_bytes != 0) {
      const auto slope = static_cast<float>(call.alibi_slopes[h]);
      std::memcpy(host.data() + sequence_bytes + h * sizeof(float), &slope, sizeof slope);
    }
    if (sink_bytes != 0) {
      const auto sink = static_cast<float>(call.sinks[h]);
      std::memcpy(host.data() + sequence_bytes + slope_bytes + h * sizeof(float), &sink, sizeof sink);
    }
  }
  memory_ = Scratch(place, bytes);
  upload(place, memory_.data(), host.data(), bytes);
  if (lists_sequences) p.each = memory_.data<Sequence>();
  if (slope_bytes != 0) p.slopes = reinterpret_cast<const float*>(memory_.data() + sequence_bytes);
  if (sink_bytes != 0) p.sinks = reinterpret_cast<const float*>(memory_.data() + sequence_bytes + slope_bytes);
}

}  // namespace attend::cuda
