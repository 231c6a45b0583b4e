// Which gradients are made by the tensor cores of compute capability 9.0, and how. Types, head sizes and
// options decide, so that the lengths and strides of a batch change no bit.
#include <algorithm>

#include "cuda/backward.h"
#include "cuda/error.h"
#include "cuda/hopper/backward_parameters.h"
#include "cuda/hopper/tensor_map.h"
#include "cuda/memory.h"

namespace attend::cuda {
namespace {

// Two neighbours of a row, at an address that takes them at once.
StoreAs stored_as(const Placed& target, std::int64_t width) {
  const std::uintptr_t pair = 2 * static_cast<std::uintptr_t>(size_of(target.number));
  const bool pairs = target.element == 1 && width % 2 == 0 && target.row % 2 == 0 && target.head % 2 == 0 &&
                     target.sequence % 2 == 0 && reinterpret_cast<std::uintptr_t>(target.data) % pair == 0;
  return !pairs                         ? StoreAs::elements
         : target.number == Number::f32 ? StoreAs::pairs_of_floats
                                        : StoreAs::pairs_of_16_bits;
}

// How many rows go side by side. Sixteen leave eight neighbours of a row at a time to the 132 multiprocessors
// of the largest card, which have its queries out of one cache; short rows may all be in there at once.
std::int64_t rows_together(std::int64_t rows, std::int64_t bytes_of_row) {
  constexpr std::int64_t kOfCache = 24 << 20;
  return std::min(rows, std::max(std::int64_t{16}, kOfCache / bytes_of_row));
}

template <class Shape>
void backward_shaped(plugin::Place place, const plugin::Attention& call, const plugin::View& d_out,
                     const BackwardProblem& backward) {
  const bool packed = call.packed != 0;
  const TmaTensor q(place, call.q, packed, kBackwardBox), k(place, call.k, packed, kBackwardBox),
      v(place, call.v, packed, kBackwardBox), gradient(place, d_out, packed, kBackwardBox);
  const auto layout = QuerySumsLayout::of(packed, packed ? call.q.shape[0] : call.q.shape[2],
                                          call.sequence_count, Shape::kQueries);
  const auto tiles = static_cast<std::size_t>(layout.tiles_of_head * call.query_heads);
  const Scratch sums(place, tiles * 2 * Shape::kQuerySums * sizeof(float));
  const Scratch numbers(place, (tiles + 1) * sizeof(std::int32_t));
  check(cudaMemsetAsync(numbers.data(), 0, (tiles + 1) * sizeof(std::int32_t),
                        static_cast<cudaStream_t>(place.stream)),
        "clear memory");
  BackwardParameters parameters{q.map(), k.map(), v.map(), gradient.map(), backward, 0, {}, {}, {}, {}};
  parameters.log2_scale = static_cast<float>(call.scale * 1.4426950408889634);
  parameters.store_k = stored_as(backward.d_k, call.d);
  parameters.store_v = stored_as(backward.d_v, call.dv);
  parameters.query_sums = {layout, sums.data<float>(), numbers.data<std::int32_t>(),
                           numbers.data<std::int32_t>() + tiles};
  const auto tiles_of = [](std::int64_t rows, int rows_of_tile) {
    return (rows + rows_of_tile - 1) / rows_of_tile;
  };
  // Of each query: q, d_out, sums.
  const std::int64_t bytes_of_row = (2 + 2 + 4) * Shape::kD * call.longest_queries * backward.problem.group;
  const std::int64_t rows = call.sequence_count * call.key_heads;
  parameters.order = {static_cast<std::int32_t>(tiles_of(call.longest_keys, kOwnedKeys)),
                      static_cast<std::int32_t>(rows),
                      static_cast<std::int32_t>(rows_together(rows, bytes_of_row))};
  launch_backward<Shape>(place, parameters);
  if (backward.d_q.data != nullptr) {
    store_query_sums(place, backward, parameters.query_sums, call.sequence_count,
                     tiles_of(call.longest_queries, Shape::kQueries), Shape::kD);
  }
}

}  // namespace

bool hopper_takes_backward(plugin::Place place, const plugin::Attention& call, const plugin::View& d_out) {
  const bool plain = call.mask.data == nullptr && call.bias.data == nullptr && call.alibi_slopes == nullptr &&
                     call.softcap == 0 && call.dropout == 0;
  return facts(place.device).is_hopper() && plain &&
         (call.q.number == Number::bf16 || call.q.number == Number::f16) && call.k.number == call.q.number &&
         call.v.number == call.q.number && d_out.number == call.q.number && std::max(call.d, call.dv) <= 128;
}

void hopper_backward(plugin::Place place, const plugin::Attention& call, const plugin::View& d_out,
                     const BackwardProblem& backward) {
  // The copy engine knows no empty tensors; rows and tiles are counted in 32 bits.
  const std::int64_t longest = std::max(call.longest_queries, call.longest_keys);
  const bool countable =
      longest < 1 << 30 && call.sequence_count * call.query_heads * ((longest + 63) / 64) < INT32_MAX;
  if (call.q.data == nullptr || call.k.data == nullptr || call.v.data == nullptr || d_out.data == nullptr ||
      !countable)
    return portable_backward(place, call, backward, {});
  if (std::max(call.d, call.dv) <= 64) return backward_shaped<Backward64>(place, call, d_out, backward);
  backward_shaped<Backward128>(place, call, d_out, backward);
}

}  // namespace attend::cuda
