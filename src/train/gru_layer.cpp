#include "train/gru_layer.h"

#include <attend/dropout.h>

#include <cmath>

#include "nn/gru.h"

namespace attend::train {
namespace {

// The first rows of `view` as (sequences, length, n).
template <class View>
View by_sequence(View view, const Rows& rows) {
  return view.slice(0, 0, rows.count()).split(0, rows.sequences, rows.length);
}

GruRoom room_of(const Pass& pass) {
  const Room& room = pass.room;
  return {.step = first_rows(room.step, pass.rows.sequences),
          .carried = first_rows(room.carried, pass.rows.sequences),
          .d_past = by_sequence(room.d_past, pass.rows),
          .packed = room.packed,
          .gradient = room.sums,
          .as = room.as};
}

}  // namespace

GruLayer::GruLayer(Parameters& parameters, const std::string& name, std::int64_t hidden, double dropout,
                   std::uint64_t stream)
    : hidden_(hidden), dropout_(dropout), stream_(stream) {
  const std::int64_t e = hidden;
  const double deviation = 1 / std::sqrt(static_cast<double>(e));
  input_ = parameters.add(name + ".input.weight", {e, 3 * e}, 0, deviation);
  input_bias_ = parameters.add(name + ".input.bias", {3 * e}, 0, 0);
  state_ = parameters.add(name + ".state.weight", {e, 3 * e}, 0, deviation);
  state_bias_ = parameters.add(name + ".state.bias", {3 * e}, 0, 0);
}

void GruLayer::plan(Arena& arena, std::int64_t rows) {
  if (dropout_ > 0) arena.want(read_, {rows, hidden_});
  arena.want(gates_, {rows, 3 * hidden_});
  arena.want(past_term_, {rows, hidden_});
  arena.want(before_, {rows, hidden_});
  arena.want(out_, {rows, hidden_});
}

void GruLayer::plan_work(Arena& arena, Room& room, std::int64_t sequences, std::int64_t rows,
                         std::int64_t hidden) {
  arena.want(room.step, {sequences, 3 * hidden});
  arena.want(room.carried, {sequences, hidden});
  arena.want(room.d_past, {rows, 3 * hidden});
}

GruWeights GruLayer::weights(const Pass& pass) const {
  Parameters& parameters = pass.parameters;
  return {parameters.value(input_), parameters.value(state_), parameters.value(input_bias_),
          parameters.value(state_bias_)};
}

GruTrace GruLayer::trace(const Pass& pass) const {
  return {by_sequence(gates_, pass.rows), by_sequence(past_term_, pass.rows),
          by_sequence(before_, pass.rows)};
}

TensorView GruLayer::forward(Pass& pass, ConstTensorView x) {
  if (drops(pass)) {
    const TensorView read = first_rows(read_, pass.rows.count());
    dropout(x, {.probability = dropout_, .seed = pass.seed, .stream = stream_}, read);
    x = read;
  }
  gru(by_sequence(x, pass.rows), weights(pass), trace(pass), by_sequence(out_, pass.rows), room_of(pass));
  return first_rows(out_, pass.rows.count());
}

void GruLayer::backward(Pass& pass, ConstTensorView x, TensorView d) {
  if (drops(pass)) x = first_rows(read_, pass.rows.count());
  Parameters& parameters = pass.parameters;
  const TensorView d_rows = by_sequence(d, pass.rows);
  gru_backward(by_sequence(x, pass.rows), weights(pass), trace(pass), d_rows,
               {parameters.gradient(input_), parameters.gradient(state_), parameters.gradient(input_bias_),
                parameters.gradient(state_bias_)},
               d_rows, room_of(pass));
  if (drops(pass)) dropout(d, {.probability = dropout_, .seed = pass.seed, .stream = stream_}, d);
}

}  // namespace attend::train
