#include "train/model_memory.h"

#include <algorithm>

#include "base/error.h"
#include "base/memory_limit.h"
#include "nn/gru.h"
#include "nn/linear_gradient.h"
#include "train/feed_forward.h"
#include "train/layers.h"

namespace attend::train {
namespace {

// The sizes of a shape as real numbers.
struct Sizes {
  Sizes(const ModelShape& shape, std::int64_t batch)
      : two(shape.kind == ModelKind::encoder_decoder),
        recurrent(shape.mixer == MixerKind::gru),
        gated(shape.feed_forward == FeedForwardKind::swiglu),
        sequences(static_cast<double>(batch)),
        length(static_cast<double>(shape.length)),
        rows(sequences * length),
        layers(static_cast<double>(shape.layers)),
        e(static_cast<double>(shape.hidden)),
        heads(static_cast<double>(shape.heads)),
        inner(static_cast<double>(shape.inner)),
        wide(gated ? 2 * inner : inner),
        words(static_cast<double>(shape.vocabulary)) {}
  bool two, recurrent, gated;
  double sequences, length, rows, layers, e, heads, inner, wide, words;
};

double linear(double in, double out) { return in * out + out; }

double parameter_numbers(const ModelShape& shape, const Sizes& s) {
  const double norm = shape.norm == NormKind::layer ? 2 * s.e : s.e;
  const double embedders = s.two ? 2 : 1;
  double numbers = s.words * s.e;
  if (shape.positions == PositionKind::learned) numbers += s.length * s.e;
  if (shape.typed) numbers += s.e;
  if (shape.guesses && !shape.tied) numbers += s.e * s.words;
  if (s.recurrent) return numbers + s.layers * 2 * linear(s.e, 3 * s.e);
  numbers += embedders * norm;  // at the end of a stack, or after its embedding
  const double attention = linear(s.e, 3 * s.e) + linear(s.e, s.e) + norm;
  const double feed_forward = linear(s.e, s.wide) + linear(s.inner, s.e) + norm;
  numbers += embedders * s.layers * (attention + feed_forward);
  if (s.two) numbers += s.layers * attention;  // cross-attention has the same matrices, differently cut
  return numbers;
}

// Kept of a block for the backward pass, beside the stream that leaves it.
double inside_block(const ModelShape& shape, const Sizes& s, bool cross) {
  const double sum = shape.norm_first ? 0 : s.e;
  const double attention = 3 * s.e + s.e + 2 * s.heads + sum + s.e;
  return s.rows * (attention + (cross ? attention : 0) + s.wide + sum);
}

double blocks(const ModelShape& shape, const Sizes& s) {
  const double inside = inside_block(shape, s, false), inside_cross = inside_block(shape, s, s.two);
  const double out = (s.two ? 2 : 1) * s.layers * s.rows * s.e;
  if (shape.recompute) return out + std::max(inside, inside_cross);
  return out + s.layers * (inside_cross + (s.two ? inside : 0));
}

double gru_layers(const ModelShape& shape, const Sizes& s) {
  return s.rows * s.e * (6 * s.layers + (shape.dropout > 0 ? s.layers - 1 : 0));
}

// The matrix that is packed, and the room of a weight's gradient: each of the largest.
double products(const ModelShape& shape) {
  std::int64_t panels = 0, gradient = 0;
  const std::int64_t e = shape.hidden,
                     wide = (shape.feed_forward == FeedForwardKind::swiglu ? 2 : 1) * shape.inner;
  if (shape.guesses) {
    Linear::plan(e, shape.vocabulary, panels, gradient);
    gradient = std::max(gradient, linear_gradient_room(shape.vocabulary, e));
  }
  if (shape.mixer == MixerKind::gru) {
    panels = std::max(panels, gru_packed_room(e, e));
    gradient = std::max(gradient, linear_gradient_room(e, 3 * e));
  } else {
    Linear::plan(e, 3 * e, panels, gradient);
    Linear::plan(e, wide, panels, gradient);
    Linear::plan(shape.inner, e, panels, gradient);
  }
  return static_cast<double>(panels) + static_cast<double>(gradient);
}

// What the head works in, and after it the parts of a block, in the same place.
double workshop(const ModelShape& shape, const Sizes& s) {
  const double some = std::min(s.rows, static_cast<double>(logit_rows(shape.vocabulary)));
  const double head = shape.guesses ? some * (s.e + s.words) : 0;
  if (s.recurrent) return std::max(head, 4 * s.sequences * s.e + 3 * s.rows * s.e);
  const double together = std::min(s.rows, static_cast<double>(FeedForward::kRows));
  const double attention = s.rows * s.e * (s.two ? 6 : 4);
  const double feed_forward = together * (s.inner + s.wide + (s.gated ? s.inner : 0));
  const double around = s.rows * s.e * (shape.dropout > 0 ? 3 : 2);
  return std::max(head, around + std::max(attention, feed_forward));
}

}  // namespace

std::int64_t logit_rows(std::int64_t vocabulary) {
  constexpr std::int64_t kElements = std::int64_t{4} << 20, kMost = 1024, kLeast = 16;
  return std::clamp(kElements / vocabulary, kLeast, kMost);
}

ModelMemory model_memory(const ModelShape& given, std::int64_t sequences, DType dtype) {
  const ModelShape shape = settled(given);
  const Sizes s(shape, sequences);
  const auto size = static_cast<double>(size_of(dtype));
  const double embedders = s.two ? 2 : 1;
  double numbers = embedders * s.rows * s.e * (shape.norm_first ? 1 : 2);
  numbers += s.recurrent ? gru_layers(shape, s) : blocks(shape, s);
  numbers += s.rows * s.e * (s.two ? 4 : 2) + 2 * s.e;  // after the last norms, and gradients of the stream
  if (dtype == DType::f32) numbers += products(shape);
  numbers += workshop(shape, s);
  double tables = embedders * s.rows * sizeof(std::int32_t) * (shape.typed ? 2 : 1);
  if (shape.positions == PositionKind::sinusoidal) tables += embedders * s.length * s.e * size;
  if (shape.positions == PositionKind::rotary) tables += s.length * s.e / s.heads * sizeof(double);
  return {4 * size * parameter_numbers(shape, s), size * numbers, tables};
}

void require_memory(const ModelShape& shape, std::int64_t sequences, DType dtype) {
  const double need = model_memory(shape, sequences, dtype).total(), most = memory_limit();
  if (need <= most) return;
  refuse("train", "a model of this shape would take ", memory_text(need), " to learn in batches of ",
         sequences, ", and there are ", memory_text(most));
}

}  // namespace attend::train
