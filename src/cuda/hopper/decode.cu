// Which sequences are decoded, and how: those of few queries, in 16 bits, without dropout, as on the host.
#include <algorithm>

#include "cuda/error.h"
#include "cuda/hopper/decode.h"
#include "cuda/hopper/tensor_map.h"
#include "cuda/memory.h"

namespace attend::cuda {
namespace {

template <class Shape>
void decode_shaped(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                   const ForwardTarget& target) {
  const bool packed = call.packed != 0;
  // Nothing next to a line is fetched along: it is asked for anyway, and asking twice takes 10% longer.
  constexpr CUtensorMapL2promotion kAlone = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  const TmaTensor k(place, call.k, packed, Shape::kTile, kAlone), v(place, call.v, packed, Shape::kTile, kAlone);
  DecodeParameters parameters{};
  parameters.k = k.map();
  parameters.v = v.map();
  parameters.problem = problem;
  parameters.problem.k = k.tensor();
  parameters.problem.v = v.tensor();
  parameters.target = target;
  parameters.log2_scale = static_cast<float>(call.scale * 1.4426950408889634);
  parameters.most_queries = std::min(call.longest_queries, kMostDecodedQueries);
  const Placed& q = problem.q;
  parameters.pairs_of_queries = q.element == 1 && call.d % 2 == 0 && q.row % 2 == 0 && q.head % 2 == 0 &&
                                q.sequence % 2 == 0 && reinterpret_cast<std::uintptr_t>(q.data) % 4 == 0;
  const std::int64_t pieces = most_decode_pieces(call.longest_keys);
  const std::int64_t all_rows = call.sequence_count * call.query_heads * parameters.most_queries;
  const std::int64_t key_rows = call.k.shape[packed ? 0 : 2];
  if (all_rows >= INT32_MAX || key_rows >= INT32_MAX)
    fail("cannot decode ", all_rows, " rows on ", key_rows, " keys in one call");
  parameters.sequences = static_cast<std::int32_t>(call.sequence_count);
  parameters.key_heads = static_cast<std::int32_t>(call.key_heads);
  parameters.pieces = static_cast<std::int32_t>(pieces);
  std::int64_t most_rows = 0;
  for (std::int64_t s = 0; s < call.sequence_count; ++s) {
    if (call.sequences[s].queries <= kMostDecodedQueries)
      most_rows = std::max(most_rows, call.sequences[s].queries * problem.group);
  }
  parameters.part_rows = most_rows > 8 && Shape::kMostProducts == 2 ? 16 : 8;
  const auto work = [&](std::int64_t s) {
    const Sequence& sequence = call.sequences[s];
    return DecodeWork::of({sequence.key_count, sequence.query_offset, call.window_left, call.window_right, call.causal != 0},
                          sequence.queries, problem.group, parameters.part_rows);
  };
  std::int64_t items = 0;
  for (std::int64_t s = 0; s < call.sequence_count; ++s) items += work(s).of_head() * call.key_heads;
  const auto blocks = static_cast<std::int32_t>(
      std::min<std::int64_t>(items, std::min(facts(place.device).multiprocessors, kMostBlocks)));
  deal_pieces(parameters.sequences, parameters.key_heads, work, blocks, parameters.starts);
  // State first: it wants 8 bytes, what follows is a multiple of them.
  const std::size_t states = static_cast<std::size_t>(all_rows * pieces);
  const Scratch scratch(place, states * (sizeof(float2) + Shape::kD * sizeof(float)));
  parameters.state = scratch.data<float2>();
  parameters.sums = reinterpret_cast<float*>(scratch.data() + states * sizeof(float2));
  launch_decode<Shape>(place, parameters, blocks);
}

}  // namespace

bool decode_takes(plugin::Place place, const plugin::Attention& call) {
  const auto small = [](Number number) { return number == Number::bf16 || number == Number::f16; };
  return facts(place.device).is_hopper() && small(call.q.number) && call.k.number == call.q.number &&
         call.v.number == call.q.number && std::max(call.d, call.dv) <= 256 && call.dropout == 0;
}

void decode_forward(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                    const ForwardTarget& target) {
  const std::int64_t size = std::max(call.d, call.dv);
  const auto run = size <= 64    ? decode_shaped<Decode64>
                   : size <= 128 ? decode_shaped<Decode128>
                   : size <= 192 ? decode_shaped<Decode192>
                                 : decode_shaped<Decode256>;
  run(place, call, problem, target);
}

}  // namespace attend::cuda
