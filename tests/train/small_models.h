// Small models of every kind, and a batch for each.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/own_model.h"
#include "train/model.h"

namespace attend::train {

using model::FeedForwardKind;
using model::MixerKind;
using model::ModelKind;

// A model of attend's own family, and how it is trained.
struct ModelShape : model::OwnModel {
  bool typed = false;  // one more vector, the same for every token: BERT's token type
  double dropout = 0;
  bool recompute = false, guesses = true;
  Precision precision = Precision::f32;
  void (*change)(LayerDescription& layer) = nullptr;  // of what OwnModel has no settings for, in every layer

  ModelDescription description() const {
    ModelDescription made = model::describe(*this);
    if (typed) made.token_types = 1;
    if (change != nullptr) {
      for (LayerDescription& layer : made.layers) change(layer);
    }
    return made;
  }
  TrainingOptions options(std::int64_t sequences) const {
    return {.sequences = sequences,
            .dropout = dropout,
            .recompute = recompute,
            .guesses = guesses,
            .precision = precision};
  }
};

struct SmallModel : Model {
  explicit SmallModel(const ModelShape& shape, std::int64_t sequences = 1, DType dtype = DType::f32,
                      Memory memory = Memory::now)
      : Model(shape.description(), shape.options(sequences), dtype, memory) {}
};

struct NamedShape {
  std::string name;
  ModelShape shape;
};
inline std::ostream& operator<<(std::ostream& out, const NamedShape& model) { return out << model.name; }

inline ModelShape tiny(ModelKind kind) {
  ModelShape shape;
  shape.kind = kind;
  shape.vocabulary = 11;
  shape.length = 5;
  shape.layers = 2;
  shape.hidden = 8;
  shape.heads = 2;
  shape.inner = 12;
  return shape;
}

// Every choice at least once.
inline std::vector<NamedShape> small_models() {
  std::vector<NamedShape> list;
  const auto add = [&](const char* name, ModelKind kind, const auto& change) {
    list.push_back({name, tiny(kind)});
    change(list.back().shape);
  };
  using K = ModelKind;
  add("gpt2", K::decoder, [](ModelShape&) {});
  add("bert", K::encoder, [](ModelShape& s) {
    s.norm_first = false;
    s.feed_forward = FeedForwardKind::gelu;
    s.typed = true;
    s.tied = false;
  });
  add("llama", K::decoder, [](ModelShape& s) {
    s.norm = NormKind::rms;
    s.feed_forward = FeedForwardKind::swiglu;
    s.positions = PositionKind::rotary;
    s.recompute = true;
  });
  add("alibi", K::decoder, [](ModelShape& s) { s.positions = PositionKind::alibi; });
  add("dropout", K::decoder, [](ModelShape& s) {
    s.positions = PositionKind::none;
    s.dropout = 0.3;
    s.recompute = true;
  });
  add("seq2seq", K::encoder_decoder, [](ModelShape& s) { s.positions = PositionKind::sinusoidal; });
  add("seq2seq_post", K::encoder_decoder, [](ModelShape& s) {
    s.norm_first = false;
    s.dropout = 0.2;
    s.recompute = true;
  });
  add("today", K::decoder, [](ModelShape& s) {
    s.norm = NormKind::rms;
    s.positions = PositionKind::rotary;
    s.change = [](LayerDescription& layer) {
      layer.attention.key_heads = 1;
      layer.attention.head_size = 6;
      layer.attention.bias = layer.attention.output_bias = layer.feed_forward->bias = false;
      layer.attention.query_key_norm = QueryKeyNorm::heads;
      layer.attention.window.left = 2;
      layer.attention.softcap = 3;
      layer.feed_forward->gated = true;
    };
  });
  add("parallel", K::decoder, [](ModelShape& s) {
    s.dropout = 0.2;
    s.change = [](LayerDescription& layer) {
      layer.feed_forward->parallel = true;
      layer.attention.query_key_norm = QueryKeyNorm::whole;
    };
  });
  add("gru", K::decoder, [](ModelShape& s) { s.mixer = MixerKind::gru; });
  add("gru_dropout", K::decoder, [](ModelShape& s) {
    s.mixer = MixerKind::gru;
    s.tied = false;
    s.dropout = 0.3;
  });
  return list;
}

inline Sequences random_sequences(const ModelShape& shape, std::int64_t count, std::uint64_t seed,
                                  bool ragged) {
  Sequences result{.count = count, .length = shape.length};
  for (std::int64_t i = 0; i < count * shape.length; ++i) {
    result.ids.push_back(static_cast<std::int32_t>(random_bits(seed, static_cast<std::uint64_t>(i)) %
                                                   static_cast<std::uint64_t>(shape.vocabulary)));
  }
  if (ragged) {
    for (std::int64_t s = 0; s < count; ++s) result.lengths.push_back(shape.length - s % 3);
  }
  return result;
}

// Some tokens have no target.
inline Batch random_batch(const ModelShape& shape, std::int64_t count, std::uint64_t seed) {
  Batch batch{.tokens = random_sequences(shape, count, seed, shape.kind == ModelKind::encoder)};
  for (std::size_t i = 0; i < batch.tokens.ids.size(); ++i) {
    batch.targets.push_back(i % 4 == 1 ? kNoTarget
                                       : static_cast<std::int32_t>(random_bits(seed + 1, i) % 11));
  }
  if (shape.kind == ModelKind::encoder_decoder) batch.source = random_sequences(shape, count, seed + 2, true);
  return batch;
}

}  // namespace attend::train
