#include "train/model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "nn/linear_gradient.h"
#include "train/model_memory.h"

namespace attend::train {
namespace {

constexpr const char* kModelOperation = "train";
constexpr std::uint64_t kStreamsOfABlock = 8;

void check_sequences(const char* name, const Sequences& sequences, const ModelShape& shape,
                     const BatchLimits& limits) {
  if (sequences.count < 1 || sequences.count > limits.sequences) {
    refuse(kModelOperation, name, " has ", sequences.count, " sequences, expected 1 to ", limits.sequences);
  }
  if (sequences.length < 1 || sequences.length > shape.length) {
    refuse(kModelOperation, name, " has sequences of ", sequences.length, " tokens, expected 1 to ",
           shape.length);
  }
  if (static_cast<std::int64_t>(sequences.ids.size()) != sequences.count * sequences.length) {
    refuse(kModelOperation, name, " has ", sequences.ids.size(), " ids, expected ",
           sequences.count * sequences.length);
  }
}

Rows rows_of(const Sequences& sequences) { return {sequences.count, sequences.length, sequences.lengths}; }

}  // namespace

Model::Model(const ModelShape& given, const BatchLimits& limits, DType dtype, Memory memory)
    : shape_(settled(given)), limits_(limits), dtype_(dtype) {
  const ModelShape& shape = shape_;
  train::check(shape);
  if (limits.sequences < 1 || limits.sequences > kLargestSize) {
    refuse(kModelOperation, "a batch has ", limits.sequences, " sequences, expected 1 to ", kLargestSize);
  }
  const std::int64_t e = shape.hidden;
  const double deviation = 0.5 / std::sqrt(static_cast<double>(e));
  words_ = parameters_.add("words", {shape.vocabulary, e}, 0, deviation);
  if (shape.positions == PositionKind::learned) {
    positions_ = parameters_.add("positions", {shape.length, e}, 0, deviation);
  }
  if (shape.typed) type_ = parameters_.add("type", {1, e}, 0, deviation);
  const bool two = shape.kind == ModelKind::encoder_decoder, recurrent = shape.mixer == MixerKind::gru;
  std::uint64_t stream = 0;
  const auto next = [&stream] { return std::exchange(stream, stream + kStreamsOfABlock); };
  if (two) {
    source_embedder_.emplace(parameters_, "encoder.embedding", shape,
                             EmbeddingTables{words_, positions_, type_}, next());
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      encoder_.emplace_back(parameters_, "encoder." + std::to_string(layer), shape, false, false, next());
    }
    if (shape.norm_first) encoder_norm_.emplace(parameters_, "encoder.norm", shape);
  }
  embedder_.emplace(parameters_, "embedding", shape, EmbeddingTables{words_, positions_, type_}, next());
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string name = "layer." + std::to_string(layer);
    if (recurrent) {
      recurrent_.emplace_back(parameters_, name, shape, layer == 0, next());
    } else {
      decoder_.emplace_back(parameters_, name, shape, shape.kind != ModelKind::encoder, two, next());
    }
  }
  if (shape.norm_first && !recurrent) final_norm_.emplace(parameters_, "norm", shape);
  if (shape.guesses && !shape.tied) {
    output_ = parameters_.add("output", {e, shape.vocabulary}, 0, 1 / std::sqrt(static_cast<double>(e)));
  }
  if (memory == Memory::now) allocate();
}

void Model::allocate() {
  require_memory(shape_, limits_.sequences, dtype_);
  parameters_.allocate(dtype_);
  plan(limits_);
  arena_.allocate(dtype_);
  if (source_embedder_) source_embedder_->prepare(shape_, dtype_);
  embedder_->prepare(shape_, dtype_);
}

void Model::plan(const BatchLimits& limits) {
  const std::int64_t e = shape_.hidden, rows = limits.sequences * shape_.length;
  const std::int64_t wide = (shape_.feed_forward == FeedForwardKind::swiglu ? 2 : 1) * shape_.inner;
  const auto plan_stack = [&](std::deque<Block>& blocks, Embedder& embedder) {
    embedder.plan(arena_, rows);
    for (Block& block : blocks) block.plan_out(arena_, rows);
    for (Block& block : blocks) {
      if (shape_.recompute) continue;
      block.plan_inside(arena_, rows, rows);
    }
  };
  if (source_embedder_) plan_stack(encoder_, *source_embedder_);
  plan_stack(decoder_, *embedder_);
  for (GruLayer& layer : recurrent_) layer.plan(arena_, rows);
  if (shape_.recompute) {
    const std::int64_t mark = arena_.mark();
    for (std::deque<Block>* const blocks : {&encoder_, &decoder_}) {
      for (Block& block : *blocks) {
        arena_.rewind(mark);
        block.plan_inside(arena_, rows, rows);
      }
    }
    arena_.keep_all();
  }

  std::int64_t panels = 0, gradient = 0;
  if (shape_.guesses) {
    Linear::plan(e, shape_.vocabulary, panels, gradient);
    gradient = std::max(gradient, linear_gradient_room(shape_.vocabulary, e));
  }
  for (std::deque<Block>* const blocks : {&encoder_, &decoder_}) {
    for (Block& block : *blocks) block.plan_room(panels, gradient);
  }
  for (const GruLayer& layer : recurrent_) layer.plan_room(panels, gradient);
  arena_.want(normed_, {rows, e});
  if (source_embedder_) {
    arena_.want(memory_, {rows, e});
    arena_.want(d_memory_, {rows, e});
  }
  arena_.want(d_, {rows, e});
  if (parameters_.dtype() == DType::f32) {
    arena_.want(room_.panels, {panels});
    arena_.want(room_.gradient, {gradient});
  }
  arena_.want(room_.factors, {2, e});
  // What the head works in is forgotten before a block works, and one part of a block before the next.
  const std::int64_t mark = arena_.mark();
  if (shape_.guesses) {
    const std::int64_t some = std::min(rows, logit_rows(shape_.vocabulary));
    arena_.want(picked_, {some, e});
    arena_.want(logits_, {some, shape_.vocabulary});
  }
  arena_.rewind(mark);
  if (!recurrent_.empty()) return GruLayer::plan_work(arena_, room_, limits.sequences, shape_);
  arena_.want(room_.normed, {rows, e});
  arena_.want(room_.d_normed, {rows, e});
  if (shape_.dropout > 0) arena_.want(room_.branch, {rows, e});
  const std::int64_t parts = arena_.mark();
  arena_.want(room_.d_attended, {rows, e});
  arena_.want(room_.d_query, {rows, 3 * e});
  if (source_embedder_) arena_.want(room_.d_context, {rows, 2 * e});
  arena_.rewind(parts);
  const std::int64_t together = std::min(rows, FeedForward::kRows);
  arena_.want(room_.activated, {together, shape_.inner});
  arena_.want(room_.d_inner, {together, wide});
  if (shape_.feed_forward == FeedForwardKind::swiglu) {
    arena_.want(room_.d_activated, {together, shape_.inner});
  }

  if (shape_.positions == PositionKind::rotary) {
    const std::int64_t pairs = e / shape_.heads / 2;
    cosines_ = Tensor(DType::f64, {shape_.length, pairs});
    sines_ = Tensor(DType::f64, {shape_.length, pairs});
    for (std::int64_t p = 0; p < shape_.length; ++p) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const double angle =
            static_cast<double>(p) / std::pow(10000.0, static_cast<double>(i) / static_cast<double>(pairs));
        const auto at = static_cast<std::size_t>(p * pairs + i);
        cosines_.values<double>()[at] = std::cos(angle);
        sines_.values<double>()[at] = std::sin(angle);
      }
    }
  }
}

std::int64_t Model::activation_bytes() const {
  return arena_.elements() * static_cast<std::int64_t>(size_of(parameters_.dtype()));
}

void Model::check(const Batch& batch) const {
  check_sequences("a batch", batch.tokens, shape_, limits_);
  if (!source_embedder_) return;
  check_sequences("the source of a batch", batch.source, shape_, limits_);
  if (batch.source.count != batch.tokens.count) {
    refuse(kModelOperation, "a batch has ", batch.source.count, " sources for ", batch.tokens.count,
           " sequences");
  }
}

Pass Model::pass_for(const Batch& batch, bool training, std::uint64_t seed) {
  Pass pass{shape_, parameters_, room_, training, seed, rows_of(batch.tokens), rows_of(batch.source)};
  if (shape_.positions == PositionKind::rotary) {
    pass.cosines = cosines_;
    pass.sines = sines_;
  }
  return pass;
}

TensorView Model::run_stack(Pass& pass, std::deque<Block>& blocks, Embedder& embedder,
                            std::optional<Norm>& norm, TensorView normed, const Sequences& tokens,
                            ConstTensorView source, std::vector<TensorView>& streams,
                            const AttentionObserver& observer, bool encoder) {
  pass.rows = rows_of(tokens);
  streams.assign(1, embedder.forward(pass, tokens.ids));
  std::int64_t layer = 0;
  for (GruLayer& one : recurrent_) streams.push_back(one.forward(pass, streams.back()));
  for (Block& block : blocks) {
    streams.push_back(block.forward(pass, streams.back(), source));
    if (observer) {
      observer({encoder ? LayerAttention::Which::encoder : LayerAttention::Which::decoder, layer,
                block.self_moment(pass)});
      if (const auto cross = block.cross_moment(pass)) {
        observer({LayerAttention::Which::cross, layer, *cross});
      }
    }
    ++layer;
  }
  if (!norm) return streams.back();
  const TensorView out = first_rows(normed, pass.rows.count());
  norm->forward(pass, streams.back(), out);
  return out;
}

TensorView Model::forward(Pass& pass, const Batch& batch, const AttentionObserver& observer) {
  TensorView source;
  if (source_embedder_) {
    source = run_stack(pass, encoder_, *source_embedder_, encoder_norm_, memory_, batch.source, {},
                       encoder_streams_, observer, true);
  }
  return run_stack(pass, decoder_, *embedder_, final_norm_, normed_, batch.tokens, source, streams_, observer,
                   false);
}

void Model::back_through_stack(Pass& pass, std::deque<Block>& blocks, Embedder& embedder,
                               std::optional<Norm>& norm, const Sequences& tokens, ConstTensorView source,
                               const std::vector<TensorView>& streams, TensorView d, TensorView d_source) {
  pass.rows = rows_of(tokens);
  if (norm) norm->backward(pass, streams.back(), d, d);
  for (std::size_t i = blocks.size(); i-- > 0;) {
    // The last block of the last stack has just run, and nothing has since.
    const bool still_there = !shape_.recompute || (&blocks == &decoder_ && i + 1 == blocks.size());
    if (!still_there) blocks[i].forward(pass, streams[i], source);
    blocks[i].backward(pass, streams[i], source, d, d_source);
  }
  for (std::size_t i = recurrent_.size(); i-- > 0;) recurrent_[i].backward(pass, streams[i], d);
  embedder.backward(pass, tokens.ids, d);
}

void Model::backward(Pass& pass, const Batch& batch, TensorView d) {
  if (!source_embedder_) {
    back_through_stack(pass, decoder_, *embedder_, final_norm_, batch.tokens, {}, streams_, d, {});
    return;
  }
  const TensorView d_source = first_rows(d_memory_, pass.source.count());
  clear(d_source);
  const ConstTensorView source =
      encoder_norm_ ? first_rows(memory_, pass.source.count()) : encoder_streams_.back();
  back_through_stack(pass, decoder_, *embedder_, final_norm_, batch.tokens, source, streams_, d, d_source);
  back_through_stack(pass, encoder_, *source_embedder_, encoder_norm_, batch.source, {}, encoder_streams_,
                     d_source, {});
}

ConstTensorView Model::hidden(const Batch& batch, const AttentionObserver& observer) {
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
