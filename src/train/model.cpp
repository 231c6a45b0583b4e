#include "train/model.h"

#include <attend/dropout.h>
#include <attend/embedding.h>
#include <attend/positions.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "model/embeddings.h"
#include "model/pass_plan.h"
#include "nn/learning.h"
#include "train/model_memory.h"

namespace attend::train {
namespace {

constexpr const char* kModelOperation = "train";

// The streams of a block's dropouts: its parts', then those of their weights.
constexpr std::uint64_t kSelf = 0, kCross = 1, kFeedForward = 2, kSelfWeights = 3, kCrossWeights = 4;
constexpr std::uint64_t kStreamsOfABlock = 8;

void check_sequences(const char* name, const Sequences& sequences, std::int64_t most, std::int64_t longest) {
  if (sequences.count < 1 || sequences.count > most) {
    refuse(kModelOperation, name, " has ", sequences.count, " sequences, expected 1 to ", most);
  }
  if (sequences.length < 1 || sequences.length > longest) {
    refuse(kModelOperation, name, " has sequences of ", sequences.length, " tokens, expected 1 to ", longest);
  }
  if (static_cast<std::int64_t>(sequences.ids.size()) != sequences.count * sequences.length) {
    refuse(kModelOperation, name, " has ", sequences.ids.size(), " ids, expected ",
           sequences.count * sequences.length);
  }
}

Rows rows_of(const Sequences& sequences) { return {sequences.count, sequences.length, sequences.lengths}; }

// (rows, heads, size) as (sequences, heads, length, size)
TensorView by_sequence(TensorView heads, const Rows& rows) {
  return heads.split(0, rows.sequences, rows.length).transposed(1, 2);
}

TensorView first_rows_if(TensorView view, std::int64_t count) {
  return view.given() ? first_rows(view, count) : view;
}

// A piece of memory that is large enough, as rows of this many columns.
TensorView as_matrix(TensorView memory, std::int64_t rows, std::int64_t columns) {
  const Dims shape{rows, columns};
  return {memory.raw(), memory.dtype(), shape, row_major_strides(shape)};
}

// The place of each row in its sequence.
template <class Integer>
std::vector<Integer> places_of(const Rows& rows) {
  std::vector<Integer> places(static_cast<std::size_t>(rows.count()));
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = static_cast<Integer>(static_cast<std::int64_t>(i) % rows.length);
  return places;
}

const Rows& keys_of(const Pass& pass, const LayerDescription& layer) {
  return layer.kind == LayerKind::cross ? pass.source : pass.rows;
}

}  // namespace

Model::Model(const ModelDescription& description, const TrainingOptions& options, DType dtype, Memory memory)
    : description_(description), options_(options), dtype_(dtype) {
  attend::check(description_);
  require_learnable(description_);
  if (options.sequences < 1 || options.sequences > kLargestModelSize) {
    refuse(kModelOperation, "a batch has ", options.sequences, " sequences, expected 1 to ",
           kLargestModelSize);
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    refuse(kModelOperation, "dropout is ", options.dropout, ", expected a number from 0 to below 1");
  }
  if (dtype_ == DType::f64 && options.precision != Precision::f32) {
    refuse(kModelOperation, "a model in float64 multiplies in float64, not in ", name_of(options.precision));
  }
  room_.as = packed_to_learn(options.precision);
  std::uint64_t stream = 0;
  const auto next = [&stream] { return std::exchange(stream, stream + kStreamsOfABlock); };
  const std::int64_t count = description_.layer_count();
  const bool recurrent = count > 0 && description_.layers.front().kind == LayerKind::recurrent;
  if (recurrent) {
    ModelDescription tables_alone = description_;
    tables_alone.layers.clear();
    places_ = add_parameters(parameters_, tables_alone, false);
    tokens_.stream = next();
    for (std::int64_t i = 0; i < count; ++i) {
      recurrent_.emplace_back(parameters_, "layer." + std::to_string(i), description_.hidden_size,
                              i == 0 ? 0 : options_.dropout, next());
    }
    places_.output = add_output(parameters_, description_, options_.guesses);
    options_.recompute = false;
  } else {
    places_ = add_parameters(parameters_, description_, options_.guesses);
    const auto set_streams = [&](LayerStack& stack) {
      stack.stream = next();
      for (std::int64_t i = stack.first; i < stack.last; ++i) {
        const bool begins =
            i == stack.first || description_.layers[static_cast<std::size_t>(i) - 1].feed_forward.has_value();
        streams_.push_back(begins ? next() : streams_.back());
      }
    };
    if (description_.has_source()) {
      source_.emplace();
      source_->last = description_.encoder_layers;
      source_->embedding_norm = places_.source_embedding_norm;
      source_->final_norm = places_.source_final_norm;
      set_streams(*source_);
    }
    tokens_.first = description_.encoder_layers;
    tokens_.last = count;
    tokens_.embedding_norm = places_.embedding_norm;
    tokens_.final_norm = places_.final_norm;
    set_streams(tokens_);
    views_.resize(static_cast<std::size_t>(count));
  }
  if (memory == Memory::now) allocate();
}

void Model::allocate() {
  require_memory(description_, options_, dtype_);
  parameters_.allocate(dtype_);
  plan();
  arena_.allocate(dtype_);
  for (const LayerPlaces& places : places_.layers) {
    weights_.push_back(layer_weights(parameters_, places, [&](int parameter) {
      return room_.as == PackedAs::bf16 ? packed_.operand(parameter)
                                        : model::Operand(parameters_.value(parameter), room_.packed);
    }));
    gradients_.push_back(layer_gradients(parameters_, places));
  }
  const std::int64_t length = description_.max_tokens();
  if (description_.positions == PositionKind::sinusoidal) {
    sinusoidal_ = Tensor(dtype_, {length, description_.hidden_size});
    sinusoidal_positions(sinusoidal_);
  }
  if (!description_.uses(PositionKind::rotary)) return;
  std::vector<std::int64_t> places(static_cast<std::size_t>(length));
  std::iota(places.begin(), places.end(), 0);
  for (const LayerDescription& layer : description_.layers) {
    const bool rotates = layer.attention.positions == PositionKind::rotary;
    rotary_.push_back(rotates ? &rotary_tables_.of(layer.attention, places) : nullptr);
  }
}

std::int64_t Model::activation_bytes() const {
  return arena_.elements() * static_cast<std::int64_t>(size_of(parameters_.dtype()));
}

void Model::check(const Batch& batch) const {
  check_sequences("a batch", batch.tokens, options_.sequences, description_.max_tokens());
  if (!source_) return;
  check_sequences("the source of a batch", batch.source, options_.sequences, description_.max_tokens());
  if (batch.source.count != batch.tokens.count) {
    refuse(kModelOperation, "a batch has ", batch.source.count, " sources for ", batch.tokens.count,
           " sequences");
  }
}

Pass Model::pass_for(const Batch& batch, bool training, std::uint64_t seed) {
  return {parameters_,          room_, training ? options_.dropout : 0, seed, rows_of(batch.tokens),
          rows_of(batch.source)};
}

// How tokens enter a stack.
void Model::embed(Pass& pass, LayerStack& stack, const Sequences& tokens) {
  const std::int64_t rows = pass.rows.count();
  const bool normed = description_.embedding_norm.has_value();
  const TensorView out = first_rows(stack.entering, rows),
                   embedded = normed ? first_rows(stack.embedded, rows) : out;
  const std::vector<std::int64_t> places = places_of<std::int64_t>(pass.rows);
  model::EmbeddingTables tables{.words = {parameters_.value(places_.words)}};
  if (places_.type >= 0) tables.types = parameters_.value(places_.type);
  if (places_.positions >= 0) tables.positions = parameters_.value(places_.positions);
  if (sinusoidal_.count() > 0) tables.positions = sinusoidal_;
  model::check_ids(tokens.ids, description_);
  model::add_embeddings(tables, tokens.ids, {}, places, embedded);
  if (normed) {
    model::normalise(*description_.embedding_norm, norm_weights(parameters_, stack.embedding_norm), embedded,
                     out);
  }
  if (pass.dropout > 0)
    dropout(out, {.probability = pass.dropout, .seed = pass.seed, .stream = stack.stream}, out);
}

void Model::embed_back(Pass& pass, LayerStack& stack, const Sequences& tokens, TensorView d) {
  if (pass.dropout > 0)
    dropout(d, {.probability = pass.dropout, .seed = pass.seed, .stream = stack.stream}, d);
  if (description_.embedding_norm) {
    model::normalise_backward(*description_.embedding_norm, norm_weights(parameters_, stack.embedding_norm),
                              first_rows(stack.embedded, pass.rows.count()), d, d, {},
                              norm_gradients(parameters_, stack.embedding_norm), room_.factors);
  }
  add_embedding_gradient(tokens.ids, d, parameters_.gradient(places_.words));
  if (places_.positions >= 0) {
    add_embedding_gradient(places_of<std::int32_t>(pass.rows), d, parameters_.gradient(places_.positions));
  }
  if (places_.type >= 0) {
    const std::vector<std::int32_t> types(tokens.ids.size(), 0);
    add_embedding_gradient(types, d, parameters_.gradient(places_.type));
  }
}

std::int64_t Model::first_of_block(const LayerStack& stack, std::int64_t last) const {
  std::int64_t first = last;
  while (first > stack.first && !description_.layers[static_cast<std::size_t>(first) - 1].feed_forward)
    --first;
  return first;
}

// What enters a layer.
ConstTensorView Model::entering(const LayerStack& stack, std::int64_t index) const {
  return index == stack.first ? stack.entering : views_[static_cast<std::size_t>(index) - 1].out;
}

model::LayerRun Model::run_of(Pass& pass, std::int64_t index, AttentionOptions& options) const {
  const auto at = static_cast<std::size_t>(index);
  const LayerDescription& layer = description_.layers[at];
  const LayerViews& views = views_[at];
  const Rows& keys = keys_of(pass, layer);
  const std::int64_t rows = pass.rows.count(), heads = layer.attention.heads;
  const bool cross = layer.kind == LayerKind::cross;

  options = model::attention_options(layer.attention, {});
  options.key_lengths = keys.lengths;
  if (room_.as == PackedAs::bf16) options.precision = Precision::bf16;
  options.dropout = pass.dropout;
  options.dropout_seed = random_bits(pass.seed, streams_[at] + (cross ? kCrossWeights : kSelfWeights));

  model::LayerMemory memory{.projected = first_rows(views.projected, rows),
                            .context = first_rows_if(views.context, keys.count()),
                            .unnormed = first_rows_if(views.unnormed, rows),
                            .attended = first_rows(views.attended, rows),
                            .after_attention = first_rows_if(views.after_attention, rows),
                            .attention_sum = first_rows_if(views.attention_sum, rows),
                            .feed_forward_sum = first_rows_if(views.feed_forward_sum, rows),
                            .product = first_rows_if(views.product, rows)};
  const model::HeadViews by_row = model::head_views(layer, memory.projected, memory.context);
  const Dims state{pass.rows.sequences, heads, pass.rows.length};
  const auto state_of = [&](const TensorView& flat) {
    return TensorView(flat.raw(), flat.dtype(), state, row_major_strides(state));
  };
  memory.heads = {
      .q = by_sequence(by_row.q, pass.rows),
      .k = by_sequence(by_row.k, keys),
      .v = by_sequence(by_row.v, keys),
      .attended = by_sequence(memory.attended.split(1, heads, layer.attention.head_size), pass.rows),
      .state = {state_of(views.max), state_of(views.sum)}};

  const model::RotaryTables* const rotary = rotary_.empty() ? nullptr : rotary_[at];
  const auto table = [&](Tensor model::RotaryTables::*part) {
    return rotary != nullptr ? (rotary->*part).view().slice(0, 0, pass.rows.length) : ConstTensorView();
  };
  const FeedForwardDescription part = layer.feed_forward.value_or(FeedForwardDescription{});
  const std::int64_t together = std::min(rows, model::LayerRun::kActivatedRows);
  model::LayerRoom room{.normed = first_rows(room_.normed, rows),
                        .branch = first_rows_if(room_.branch, rows)};
  if (layer.feed_forward) room.activated = as_matrix(room_.activated, together, part.size);
  return {.layer = layer,
          .weights = weights_[at],
          .options = options,
          .memory = memory,
          .room = room,
          .cosines = table(&model::RotaryTables::cosines),
          .sines = table(&model::RotaryTables::sines),
          .keep = true,
          .dropout = {.probability = pass.dropout,
                      .seed = pass.seed,
                      .attention_stream = streams_[at] + (cross ? kCross : kSelf),
                      .feed_forward_stream = streams_[at] + kFeedForward}};
}

void Model::run_layer(Pass& pass, const LayerStack& stack, std::int64_t index, ConstTensorView source) {
  AttentionOptions options;
  const std::int64_t rows = pass.rows.count();
  const bool cross = description_.layers[static_cast<std::size_t>(index)].kind == LayerKind::cross;
  run_of(pass, index, options)
      .forward(entering(stack, index).slice(0, 0, rows), cross ? source : ConstTensorView(),
               first_rows(views_[static_cast<std::size_t>(index)].out, rows));
}

void Model::run_layer_back(Pass& pass, const LayerStack& stack, std::int64_t index, ConstTensorView source,
                           TensorView d, TensorView d_source) {
  AttentionOptions options;
  const auto at = static_cast<std::size_t>(index);
  const LayerDescription& layer = description_.layers[at];
  const AttentionDescription& attention = layer.attention;
  const Rows& keys = keys_of(pass, layer);
  const std::int64_t rows = pass.rows.count(), q = model::query_columns(attention);
  const bool cross = layer.kind == LayerKind::cross;
  const model::LayerRun run = run_of(pass, index, options);
  model::BackwardRoom room{.d_read = first_rows(room_.d_read, rows),
                           .d_after = first_rows_if(room_.d_after, rows),
                           .d_attended = as_matrix(room_.d_attended, rows, q),
                           .d_projected = as_matrix(room_.d_projected, rows, model::projected_columns(layer)),
                           .factors = room_.factors,
                           .sums = room_.sums,
                           .as = room_.as};
  if (cross) room.d_context = as_matrix(room_.d_context, keys.count(), 2 * model::key_columns(attention));
  const model::HeadViews by_row = model::head_views(layer, room.d_projected, room.d_context);
  room.d_heads = {
      .q = by_sequence(by_row.q, pass.rows),
      .k = by_sequence(by_row.k, keys),
      .v = by_sequence(by_row.v, keys),
      .attended = by_sequence(room.d_attended.split(1, attention.heads, attention.head_size), pass.rows)};
  if (layer.feed_forward) {
    const std::int64_t together = std::min(rows, model::LayerRun::kActivatedRows);
    room.d_product = as_matrix(room_.d_product, together, model::product_size(*layer.feed_forward));
    if (layer.feed_forward->gated)
      room.d_activated = as_matrix(room_.d_activated, together, layer.feed_forward->size);
  }
  model::LayerBackward{.run = run, .room = room, .gradients = &gradients_[at]}.backward(
      entering(stack, index).slice(0, 0, rows), cross ? source : ConstTensorView(), d, d_source);
}

void Model::show(Pass& pass, std::int64_t index, const LayerObserver& observer) const {
  AttentionOptions options;
  const model::LayerRun run = run_of(pass, index, options);
  const model::HeadViews& heads = run.memory.heads;
  observer({.layer = index + 1,
            .hidden = first_rows(views_[static_cast<std::size_t>(index)].out, pass.rows.count()),
            .q = heads.q,
            .k = heads.k,
            .v = heads.v,
            .attended = heads.attended,
            .options = options,
            .row_state = {heads.state.max, heads.state.sum}});
}

TensorView Model::run_stack(Pass& pass, LayerStack& stack, const Sequences& tokens, ConstTensorView source,
                            const LayerObserver& observer) {
  pass.rows = rows_of(tokens);
  const std::int64_t rows = pass.rows.count();
  embed(pass, stack, tokens);
  TensorView last = first_rows(stack.entering, rows);
  for (GruLayer& layer : recurrent_) last = layer.forward(pass, last);
  for (std::int64_t index = stack.first; index < stack.last && !is_recurrent(); ++index) {
    run_layer(pass, stack, index, source);
    if (observer) show(pass, index, observer);
    last = first_rows(views_[static_cast<std::size_t>(index)].out, rows);
  }
  if (!description_.final_norm) return last;
  const TensorView out = first_rows(stack.leaving, rows);
  model::normalise(*description_.final_norm, norm_weights(parameters_, stack.final_norm), last, out);
  return out;
}

TensorView Model::forward(Pass& pass, const Batch& batch, const LayerObserver& observer) {
  packed_.pack(parameters_);
  TensorView source;
  if (source_) source = run_stack(pass, *source_, batch.source, {}, observer);
  return run_stack(pass, tokens_, batch.tokens, source, observer);
}

void Model::back_through_stack(Pass& pass, LayerStack& stack, const Sequences& tokens, ConstTensorView source,
                               TensorView d, TensorView d_source) {
  pass.rows = rows_of(tokens);
  const std::int64_t rows = pass.rows.count();
  if (description_.final_norm) {
    const ConstTensorView last = entering(stack, stack.last).slice(0, 0, rows);
    model::normalise_backward(*description_.final_norm, norm_weights(parameters_, stack.final_norm), last, d,
                              d, {}, norm_gradients(parameters_, stack.final_norm), room_.factors);
  }
  for (std::int64_t last = stack.last - 1; last >= stack.first && !is_recurrent();) {
    const std::int64_t first = first_of_block(stack, last);
    // The last block of the last stack has just run, and nothing has since.
    const bool still_there = !options_.recompute || (&stack == &tokens_ && last + 1 == stack.last);
    for (std::int64_t index = first; index <= last && !still_there; ++index)
      run_layer(pass, stack, index, source);
    for (std::int64_t index = last; index >= first; --index)
      run_layer_back(pass, stack, index, source, d, d_source);
    last = first - 1;
  }
  for (std::size_t i = recurrent_.size(); i-- > 0;) {
    const TensorView x = i == 0 ? first_rows(stack.entering, rows) : recurrent_[i - 1].states(rows);
    recurrent_[i].backward(pass, x, d);
  }
  embed_back(pass, stack, tokens, d);
}

void Model::backward(Pass& pass, const Batch& batch, TensorView d) {
  if (!source_) return back_through_stack(pass, tokens_, batch.tokens, {}, d, {});
  const std::int64_t rows = pass.source.count();
  const TensorView d_source = first_rows(d_memory_, rows);
  clear(d_source);
  const ConstTensorView source = description_.final_norm
                                     ? ConstTensorView(first_rows(source_->leaving, rows))
                                     : entering(*source_, source_->last).slice(0, 0, rows);
  back_through_stack(pass, tokens_, batch.tokens, source, d, d_source);
  back_through_stack(pass, *source_, batch.source, {}, d_source, {});
}

ConstTensorView Model::hidden(const Batch& batch, const LayerObserver& observer) {
  check(batch);
  Pass pass = pass_for(batch, false, 0);
  return forward(pass, batch, observer);
}

void Model::learn_from_hidden(const Batch& batch, const HiddenLoss& loss, std::uint64_t seed) {
  check(batch);
  Pass pass = pass_for(batch, true, seed);
  const TensorView hidden = forward(pass, batch, {});
  const TensorView d = first_rows(d_, pass.rows.count());
  clear(d);
  loss(hidden, d);
  backward(pass, batch, d);
}

}  // namespace attend::train
