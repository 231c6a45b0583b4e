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
  const TmaTensor k(place, call.k, packed, Shape::kKeys), v(place, call.v, packed, Shape::kKeys);
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
  const std::int64_t rows = parameters.most_queries * problem.group, pieces = most_decode_pieces(call.longest_keys);
  parameters.items = {static_cast<std::int32_t>(call.sequence_count), static_cast<std::int32_t>(call.key_heads),
                      static_cast<std::int32_t>((rows + kDecodeRows - 1) / kDecodeRows),
                      static_cast<std::int32_t>(pieces)};
  const std::int64_t all_rows = call.sequence_count * call.query_heads * parameters.most_queries;
  if (parameters.items.total() >= INT32_MAX || all_rows >= INT32_MAX)
    fail("cannot decode ", all_rows, " rows on ", call.longest_keys, " keys in one call");
  // State first: it wants 8 bytes, what follows is a multiple of them.
  const std::size_t states = static_cast<std::size_t>(all_rows * pieces * kPieceWarps);
  const Scratch scratch(place, states * (sizeof(float2) + Shape::kD * sizeof(float)));
  parameters.state = scratch.data<float2>();
  parameters.sums = reinterpret_cast<float*>(scratch.data() + states * sizeof(float2));
  launch_decode<Shape>(place, parameters, facts(place.device).multiprocessors);
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
