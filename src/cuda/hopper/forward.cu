// Which calls go to the tensor cores of compute capability 9.0, and how. Type, head sizes and options decide,
// so that the lengths and strides of a batch change no bit of a row.
#include <algorithm>
#include <cmath>

#include "cuda/attention.h"
#include "cuda/hopper/parameters.h"
#include "cuda/hopper/tensor_map.h"
#include "cuda/memory.h"

namespace attend::cuda {
namespace {

// One option alone has a loop of its own, where its numbers allow the unit that the loop counts in: products
// before they are scaled, so that the scale must not turn them around, and a slope must not become infinite
// in it.
Variant variant_of(const plugin::Attention& call) {
  const bool mask = call.mask.data != nullptr, bias = call.bias.data != nullptr,
             slopes = call.alibi_slopes != nullptr, softcap = call.softcap != 0;
  if (call.dropout != 0 || mask + bias + slopes + softcap > 1) return Variant::every;
  // Beyond that, a score that has reached its cap would need the care that enormous ones do.
  if (softcap) return call.softcap < (1 << 26) ? Variant::capped : Variant::every;
  if (bias) return Variant::biased;
  if (call.scale <= 0) return Variant::every;
  if (mask) return Variant::masked;
  if (!slopes) return Variant::plain;
  for (std::int64_t h = 0; h < call.query_heads; ++h) {
    if (!(call.alibi_slopes[h] >= 0 && call.alibi_slopes[h] / call.scale < 1e20)) return Variant::every;
  }
  return Variant::sloped;
}

// Scores of the units in which the loop holds them; see HopperParameters.
void set_units(HopperParameters& parameters, const plugin::Attention& call, Variant variant) {
  constexpr double kLog2e = 1.4426950408889634;
  const double unit = variant == Variant::capped                                ? call.softcap
                      : variant == Variant::biased || variant == Variant::every ? 1
                                                                                : call.scale;
  parameters.log2_unit = static_cast<float>(unit * kLog2e);
  // Up to the next power where that leaves room for scores up to 1e38, else down.
  parameters.enormous_unit =
      std::exp2(parameters.log2_unit < 1 ? std::ceil(std::log2(parameters.log2_unit))
                                         : std::floor(std::log2(parameters.log2_unit)));
  parameters.natural_unit = static_cast<float>(unit);
  parameters.to_cap = call.softcap == 0 ? 0.f : static_cast<float>(call.scale / call.softcap);
  parameters.cap_terms = tanh_terms().times(parameters.log2_unit);
  parameters.slope_unit = static_cast<float>(1 / unit);
}

template <class Shape>
Schedule schedule_of(const plugin::Attention& call, const BiasRows& bias) {
  Schedule schedule{static_cast<std::int32_t>((call.longest_queries + Shape::kQueries - 1) / Shape::kQueries),
                    static_cast<std::int32_t>(call.sequence_count * call.query_heads), call.causal != 0};
  schedule.across_rows = bias.data != nullptr && bias.head == 0;
  return schedule;
}

// As many neighbours of a row of the output as lie at an address that takes them at once.
StoreWidth width_of(const Placed& out, std::int64_t dv) {
  const auto fits = [&](int count) {
    const std::uintptr_t bytes =
        static_cast<std::uintptr_t>(count) * static_cast<std::uintptr_t>(size_of(out.number));
    return out.element == 1 && dv % count == 0 && out.row % count == 0 && out.head % count == 0 &&
           out.sequence % count == 0 && reinterpret_cast<std::uintptr_t>(out.data) % bytes == 0;
  };
  if (out.number != Number::f32 && fits(8)) return StoreWidth::eight;
  return fits(2) ? StoreWidth::two : StoreWidth::one;
}

template <class Shape, Variant kVariant>
void forward_shaped(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                    const ForwardTarget& target) {
  const bool packed = call.packed != 0;
  const TmaTensor q(place, call.q, packed, Shape::kQueries), k(place, call.k, packed, Shape::kKeys),
      v(place, call.v, packed, Shape::kKeys);
  const PackedMask mask(place, call.mask, Shape::kKeys);
  const ReadableBias bias(place, call.bias);
  HopperParameters parameters{};
  parameters.q = q.map();
  parameters.k = k.map();
  parameters.v = v.map();
  parameters.problem = problem;
  parameters.problem.q = q.tensor();
  parameters.problem.k = k.tensor();
  parameters.problem.v = v.tensor();
  parameters.target = target;
  parameters.schedule = schedule_of<Shape>(call, bias.rows());
  parameters.mask = mask.words();
  parameters.bias = bias.rows();
  set_units(parameters, call, kVariant);
  parameters.width = width_of(target.out, call.dv);
  launch_hopper<Shape, kVariant>(place, parameters,
                                 static_cast<int>(std::min<std::int64_t>(
                                     parameters.schedule.total(), facts(place.device).multiprocessors)));
}

using Run = void (*)(plugin::Place, const plugin::Attention&, const Problem&, const ForwardTarget&);

template <class Shape, class Biased, class Every>
Run run_of(Variant variant) {
  switch (variant) {
    case Variant::plain:
      return forward_shaped<Shape, Variant::plain>;
    case Variant::capped:
      return forward_shaped<Shape, Variant::capped>;
    case Variant::sloped:
      return forward_shaped<Shape, Variant::sloped>;
    case Variant::masked:
      return forward_shaped<Shape, Variant::masked>;
    case Variant::biased:
      return forward_shaped<Biased, Variant::biased>;
    case Variant::every:
      break;
  }
  return forward_shaped<Every, Variant::every>;
}

}  // namespace

bool hopper_takes(plugin::Place place, const plugin::Attention& call) {
  const auto small = [](Number number) { return number == Number::bf16 || number == Number::f16; };
  // A cache may hold another type than the query's; the portable kernel reads both as they are.
  return facts(place.device).is_hopper() && small(call.q.number) && call.k.number == call.q.number &&
         call.v.number == call.q.number &&
         std::max(call.d, call.dv) <= (variant_of(call) == Variant::plain ? 256 : 128);
}

void hopper_forward(plugin::Place place, const plugin::Attention& call, const Problem& problem,
                    const ForwardTarget& target) {
  if (call.sequence_count * call.query_heads * call.longest_queries == 0) return;
  // Nothing to look at, or nothing to write but the row state: the copy engine knows no empty tensors. Tiles
  // are counted in 32 bits.
  const bool countable =
      call.sequence_count * call.query_heads * ((call.longest_queries + 127) / 128) < INT32_MAX;
  if (call.k.data == nullptr || call.v.data == nullptr || !countable)
    return portable_forward(place, call, problem, target);
  const std::int64_t size = std::max(call.d, call.dv);
  const Variant variant = variant_of(call);
  const Run run = size <= 64    ? run_of<Shape64, Biased64, Every64>(variant)
                  : size <= 128 ? run_of<Shape128, Biased128, Every128>(variant)
                  : size <= 192 ? forward_shaped<Shape192, Variant::plain>
                                : forward_shaped<Shape256, Variant::plain>;
  run(place, call, problem, target);
}

}  // namespace attend::cuda
