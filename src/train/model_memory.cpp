#include "train/model_memory.h"

#include <algorithm>

#include "base/error.h"
#include "base/memory_limit.h"
#include "model/layer.h"
#include "nn/gru.h"
#include "nn/learning.h"
#include "nn/linear_gradient.h"
#include "train/model.h"

namespace attend::train {
namespace {

bool is_recurrent_model(const ModelDescription& description) {
  return !description.layers.empty() && description.layers.front().kind == LayerKind::recurrent;
}

// How many numbers, as double, which does not overflow.
double linear_numbers(double in, double out, bool bias) { return in * out + (bias ? out : 0); }
double norm_numbers(NormKind kind, double size) { return kind == NormKind::layer ? 2 * size : size; }
double real(std::int64_t value) { return static_cast<double>(value); }

double layer_parameters(const LayerDescription& layer, double e) {
  if (layer.kind == LayerKind::recurrent) return 2 * linear_numbers(e, 3 * e, true);
  const AttentionDescription& attention = layer.attention;
  const double q = real(model::query_columns(attention)), k = real(model::key_columns(attention));
  double numbers = linear_numbers(e, real(model::projected_columns(layer)), attention.bias);
  if (layer.kind == LayerKind::cross) numbers += linear_numbers(e, 2 * k, attention.bias);
  if (attention.query_key_norm == QueryKeyNorm::whole) numbers += norm_numbers(layer.norm.kind, q + k);
  if (attention.query_key_norm == QueryKeyNorm::heads)
    numbers += 2 * norm_numbers(layer.norm.kind, real(attention.head_size));
  numbers += linear_numbers(q, e, attention.output_bias) + norm_numbers(layer.norm.kind, e);
  if (!layer.feed_forward) return numbers;
  const FeedForwardDescription& part = *layer.feed_forward;
  return numbers + linear_numbers(e, real(model::product_size(part)), part.bias) +
         linear_numbers(real(part.size), e, part.bias) + norm_numbers(layer.norm.kind, e);
}

double parameter_numbers(const ModelDescription& description, const TrainingOptions& options) {
  const double e = real(description.hidden_size), words = real(description.vocabulary_size);
  const double stacks = description.has_source() ? 2 : 1;
  double numbers = words * e;
  if (description.positions == PositionKind::learned) numbers += real(description.max_tokens()) * e;
  if (description.token_types > 0) numbers += e;
  if (options.guesses && !description.tied_output) numbers += e * words;
  if (description.embedding_norm) numbers += stacks * norm_numbers(description.embedding_norm->kind, e);
  if (description.final_norm) numbers += stacks * norm_numbers(description.final_norm->kind, e);
  for (const LayerDescription& layer : description.layers) numbers += layer_parameters(layer, e);
  return numbers;
}

// What a layer keeps for the backward pass, for each row, without what leaves a block.
double inside_layer(const LayerDescription& layer, double e) {
  const AttentionDescription& attention = layer.attention;
  const double q = real(model::query_columns(attention)), k = real(model::key_columns(attention));
  const double sum = layer.norm.place == NormPlace::before ? 0 : e;
  double numbers = real(model::projected_columns(layer)) + q + 2 * real(attention.heads) + sum + e;
  if (layer.kind == LayerKind::cross) numbers += 2 * k;
  if (attention.query_key_norm != QueryKeyNorm::none) numbers += q + k;
  if (layer.feed_forward) numbers += real(model::product_size(*layer.feed_forward)) + sum;
  return numbers;
}

// Of all layers, for each row.
double kept_by_layers(const ModelDescription& description, const TrainingOptions& options) {
  const double e = real(description.hidden_size);
  double leaving = 0, inside = 0, block = 0, largest_block = 0;
  bool first = true;
  for (const LayerDescription& layer : description.layers) {
    if (layer.kind == LayerKind::recurrent) {
      leaving += 6 * e + (options.dropout > 0 && !first ? e : 0);
      first = false;
      continue;
    }
    inside += inside_layer(layer, e);
    block += inside_layer(layer, e);
    largest_block = std::max(largest_block, block);
    if (!layer.feed_forward) continue;
    leaving += e;
    block = 0;
  }
  return leaving + (options.recompute ? largest_block : inside);
}

// Scratch memory of the head and then, in the same place, of the parts of a layer.
double workshop(const ModelDescription& description, const TrainingOptions& options, double rows) {
  const double e = real(description.hidden_size);
  const double some = std::min(rows, real(logit_rows(description.vocabulary_size)));
  const double head = options.guesses ? some * (e + real(description.vocabulary_size)) : 0;
  if (is_recurrent_model(description)) return std::max(head, 4 * real(options.sequences) * e + 3 * rows * e);
  const RoomSizes sizes(description, options);
  const double together = std::min(rows, real(model::LayerRun::kActivatedRows));
  const double attention = rows * (real(sizes.attended) + real(sizes.projected) +
                                   (description.has_source() ? real(sizes.context) : 0));
  const double feed_forward =
      together * (real(sizes.inner) + real(sizes.product) + (sizes.gated ? real(sizes.inner) : 0));
  const double of_rows = rows * e * (2 + (options.dropout > 0 ? 1 : 0) + (sizes.parallel ? 1 : 0));
  return std::max(head, of_rows + std::max(attention, feed_forward));
}

}  // namespace

std::int64_t logit_rows(std::int64_t vocabulary) {
  constexpr std::int64_t kElements = std::int64_t{4} << 20, kMost = 1024, kLeast = 16;
  return std::clamp(kElements / vocabulary, kLeast, kMost);
}

void RoomSizes::add_matrix(std::int64_t in, std::int64_t out) {
  if (as_ == PackedAs::bf16) {
    held += real(PackedWeights::room_for(in, out));
  } else {
    packed = std::max(packed, model::Operand::room_for(in, out));
  }
  sums = std::max(sums, linear_gradient_room(in, out));
}

RoomSizes::RoomSizes(const ModelDescription& description, const TrainingOptions& options)
    : as_(packed_to_learn(options.precision)) {
  const std::int64_t e = description.hidden_size;
  factors = e;
  if (options.guesses) {
    add_matrix(e, description.vocabulary_size);
    sums = std::max(sums, linear_gradient_room(description.vocabulary_size, e));
  }
  if (is_recurrent_model(description)) {
    packed = std::max(packed, gru_packed_room(e, e));
    sums = std::max(sums, linear_gradient_room(e, 3 * e));
    return;
  }
  for (const LayerDescription& layer : description.layers) {
    const AttentionDescription& attention = layer.attention;
    const std::int64_t q = model::query_columns(attention), k = model::key_columns(attention);
    attended = std::max(attended, q);
    projected = std::max(projected, model::projected_columns(layer));
    add_matrix(e, model::projected_columns(layer));
    add_matrix(q, e);
    if (attention.query_key_norm == QueryKeyNorm::whole) factors = std::max(factors, q);
    if (layer.kind == LayerKind::cross) {
      context = std::max(context, 2 * k);
      add_matrix(e, 2 * k);
    }
    if (!layer.feed_forward) continue;
    const FeedForwardDescription& part = *layer.feed_forward;
    inner = std::max(inner, part.size);
    product = std::max(product, model::product_size(part));
    gated = gated || part.gated;
    parallel = parallel || part.parallel;
    add_matrix(e, model::product_size(part));
    add_matrix(part.size, e);
  }
}

ModelMemory model_memory(const ModelDescription& description, const TrainingOptions& options, DType dtype) {
  const auto size = static_cast<double>(size_of(dtype));
  const double e = real(description.hidden_size), length = real(description.max_tokens());
  const double rows = real(options.sequences) * length;
  const double stacks = description.has_source() ? 2 : 1;
  const RoomSizes sizes(description, options);
  double numbers = stacks * rows * e * (description.embedding_norm ? 2 : 1);
  numbers += rows * kept_by_layers(description, options);
  numbers += stacks * rows * e * (description.final_norm ? 2 : 1);  // after the last norms; their gradients
  numbers += 2 * real(sizes.factors);
  if (dtype == DType::f32) numbers += real(sizes.packed) + sizes.held + real(sizes.sums);
  numbers += workshop(description, options, rows);
  double tables = stacks * rows * sizeof(std::int32_t);
  if (description.positions == PositionKind::sinusoidal) tables += length * e * size;
  if (description.uses(PositionKind::rotary))
    tables += length * real(description.layers.front().attention.head_size) * sizeof(double);
  return {4 * size * parameter_numbers(description, options), size * numbers, tables};
}

void require_memory(const ModelDescription& description, const TrainingOptions& options, DType dtype) {
  const double need = model_memory(description, options, dtype).total(), most = memory_limit();
  if (need <= most) return;
  refuse("train", "a model of this shape would take ", memory_text(need), " to learn in batches of ",
         options.sequences, ", but this process can have at most ", memory_text(most));
}

}  // namespace attend::train
