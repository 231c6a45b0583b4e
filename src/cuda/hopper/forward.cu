// Which calls go to the tensor cores of compute capability 9.0, and how. Type, head sizes and options decide, so
// that the lengths and strides of a batch change no bit of a row.
#include <algorithm>

#include "cuda/attention.h"
#include "cuda/hopper/parameters.h"
#include "cuda/hopper/tensor_map.h"
#include "cuda/memory.h"

namespace attend::cuda {
namespace {

// Keys and values of the heads that are computed at the same time should stay in the L2 cache, of which this is
// about half on the cards that have compute capability 9.0.
constexpr std::int64_t kKeptInCache = std::int64_t{32} << 20;

// What the plain loop cannot do. It multiplies scores after it has found the largest, so the scale must not turn
// them around.
bool is_general(const plugin::Attention& call) {
  return call.mask.data != nullptr || call.bias.data != nullptr || call.alibi_slopes != nullptr ||
         call.softcap != 0 || call.dropout != 0 || call.scale <= 0;
}

template <class Shape>
Schedule schedule_of(const plugin::Attention& call) {
  Schedule schedule;
  schedule.tiles = static_cast<std::int32_t>((call.longest_queries + Shape::kQueries - 1) / Shape::kQueries);
  schedule.rows = static_cast<std::int32_t>(call.sequence_count * call.query_heads);
  schedule.longest_first = call.causal != 0;
  const std::int64_t group = call.query_heads / std::max<std::int64_t>(call.key_heads, 1);
  const std::int64_t head_bytes = std::max<std::int64_t>(call.longest_keys * Shape::kD * 4, 1);
  schedule.together =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(kKeptInCache / head_bytes * group, group, schedule.rows));
  return schedule;
}

// Two neighbours of a row of the output, at an address that takes them at once.
bool stores_pairs(const Placed& out, std::int64_t dv) {
  const std::uintptr_t pair = 2 * static_cast<std::uintptr_t>(size_of(out.number));
  return out.element == 1 && dv % 2 == 0 && out.row % 2 == 0 && out.head % 2 == 0 && out.sequence % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(out.data) % pair == 0;
}

template <class Shape, bool kGeneral>
void forward_shaped(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                    const ForwardTarget& target) {
  const bool packed = call.packed != 0;
  const TmaTensor q(place, call.q, packed, Shape::kQueries), k(place, call.k, packed, Shape::kKeys),
      v(place, call.v, packed, Shape::kKeys);
  HopperParameters parameters{q.map(), k.map(), v.map(), problem, target, schedule_of<Shape>(call), 0, 0};
  parameters.problem.q = q.tensor();
  parameters.problem.k = k.tensor();
  parameters.problem.v = v.tensor();
  parameters.log2_scale = static_cast<float>(call.scale * 1.4426950408889634);
  parameters.pairs_of_output = stores_pairs(target.out, call.dv);
  launch_hopper<Shape, kGeneral>(place, parameters,
                                 static_cast<int>(std::min<std::int64_t>(
                                     parameters.schedule.total(), facts(place.device).multiprocessors)));
}

}  // namespace

bool hopper_takes(plugin::Place place, const plugin::Attention& call) {
  const auto small = [](Number number) { return number == Number::bf16 || number == Number::f16; };
  // A cache may hold another type than the query's; the portable kernel reads both as they are.
  return facts(place.device).is_hopper() && small(call.q.number) && call.k.number == call.q.number &&
         call.v.number == call.q.number && std::max(call.d, call.dv) <= (is_general(call) ? 128 : 256);
}

void hopper_forward(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                    const ForwardTarget& target) {
  if (call.sequence_count * call.query_heads * call.longest_queries == 0) return;
  // Nothing to look at, or nothing to write but the row state: the copy engine knows no empty tensors. Tiles are
  // counted in 32 bits.
  const bool countable = call.sequence_count * call.query_heads * ((call.longest_queries + 127) / 128) < INT32_MAX;
  if (call.k.data == nullptr || call.v.data == nullptr || !countable) return portable_forward(place, call, problem, target);
  const std::int64_t size = std::max(call.d, call.dv);
  const auto run = is_general(call) ? size <= 64 ? forward_shaped<General64, true> : forward_shaped<General128, true>
                   : size <= 64     ? forward_shaped<Shape64, false>
                   : size <= 128    ? forward_shaped<Shape128, false>
                   : size <= 192    ? forward_shaped<Shape192, false>
                                    : forward_shaped<Shape256, false>;
  run(place, call, problem, target);
}

}  // namespace attend::cuda
