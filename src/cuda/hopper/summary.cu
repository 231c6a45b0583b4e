// Which summaries go to the tensor cores of compute capability 9.0, and how. Type, head size and options decide, so
// that the lengths and strides of a batch change no bit of a row.
#include "cuda/hopper/summary.h"

#include <algorithm>

#include "cuda/error.h"
#include "cuda/head.cuh"
#include "cuda/hopper/summary_parts.h"
#include "cuda/hopper/tensor_map.h"
#include "cuda/memory.h"
#include "cuda/walk.cuh"

namespace attend::cuda {
namespace {

// What keys received of each part of the queries, in the order of the parts. The sums lie as the answer does, with
// an index of parts in front.
__global__ void add_parts_kernel(const PartSums sums, std::int64_t parts, const Placed received, std::int64_t heads,
                                 std::int64_t keys, std::int64_t total) {
  for (std::int64_t index = first_index(); index < total; index += index_step()) {
    const std::int64_t key = index % keys, h = index / keys % heads, s = index / keys / heads;
    double sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += sums.data[sums.at(part, s, h, key)];
    *reinterpret_cast<float*>(const_cast<char*>(Head::row_of(received, s, h, key))) = static_cast<float>(sum);
  }
}

}  // namespace

bool hopper_summarizes(plugin::Place place, const plugin::Attention& call) {
  const bool small = call.q.number == Number::bf16 || call.q.number == Number::f16;
  const bool plain = call.mask.data == nullptr && call.bias.data == nullptr && call.alibi_slopes == nullptr &&
                     call.softcap == 0 && call.scale > 0;
  return facts(place.device).is_hopper() && small && call.k.number == call.q.number && call.d <= 128 && plain;
}

void hopper_summary(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                    const plugin::RowState& state, const SummaryTarget& target) {
  const auto stream = static_cast<cudaStream_t>(place.stream);
  const bool packed = call.packed != 0;
  const TmaTensor q(place, call.q, packed, SummaryParts::kQueries), k(place, call.k, packed, SummaryParts::kKeys);
  HopperSummary parameters{q.map(), k.map(), problem, placed(state.max, packed), placed(state.sum, packed),
                           target, {}, {}, call.scale, static_cast<float>(call.scale * 1.4426950408889634)};
  std::int32_t parts = 0;
  for (std::int64_t s = 0; s < call.sequence_count; ++s)
    parts = std::max(parts, SummaryParts::of(call.sequences[s].queries).count());
  parameters.schedule = {parts, static_cast<std::int32_t>(call.sequence_count * call.query_heads), call.causal != 0};

  const std::int64_t keys = packed ? call.k.shape[0] : call.k.shape[2], sequences = packed ? 1 : call.sequence_count;
  const std::int64_t received = sequences * call.query_heads * keys, sums = parts * SummaryParts::kGroups;
  Scratch memory;
  if (target.received.data != nullptr) {
    const auto bytes = static_cast<std::size_t>(sums * received) * sizeof(float);
    memory = Scratch(place, bytes);
    check(cudaMemsetAsync(memory.data(), 0, bytes, stream), "clear memory");
    parameters.sums = {memory.data<float>(), received, packed ? 0 : call.query_heads * keys, keys};
  }
  const auto blocks = std::min(parameters.schedule.total(), facts(place.device).multiprocessors);
  if (blocks > 0) (call.d <= 64 ? launch_summary<64> : launch_summary<128>)(place, parameters, blocks);
  if (target.received.data == nullptr) return;
  add_parts_kernel<<<walk_blocks(received), kWalkThreads, 0, stream>>>(parameters.sums, sums, target.received,
                                                                       call.query_heads, keys, received);
  check(cudaGetLastError(), "launch the sums of parts");
}

}  // namespace attend::cuda
