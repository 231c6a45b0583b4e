// attend's own models, in the few settings that define one: all layers are alike. The keys of `attend
// train`'s configuration and of the config.json that it writes.
#pragma once

#include <attend/model_description.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "model/tensor_names.h"

namespace attend::model {

enum class ModelKind : std::uint8_t {
  encoder,          // every token sees every other
  decoder,          // a token sees those before it
  encoder_decoder,  // a decoder that also looks at what an encoder made of a source
};
// How a token learns about those before it: it attends to them, or it reads a state that they left.
enum class MixerKind : std::uint8_t { attention, gru };
enum class FeedForwardKind : std::uint8_t { gelu, gelu_tanh, swiglu };

// The names of each, in the order of its values.
inline constexpr std::array<std::string_view, 3> names_of(ModelKind) {
  return {"encoder", "decoder", "encoder_decoder"};
}
inline constexpr std::array<std::string_view, 2> names_of(MixerKind) { return {"attention", "gru"}; }
inline constexpr std::array<std::string_view, 3> names_of(FeedForwardKind) {
  return {"gelu", "gelu_tanh", "swiglu"};
}
inline constexpr std::array<std::string_view, 2> names_of(NormKind) { return {"layer", "rms"}; }
// Those in which a model can learn.
inline constexpr std::array<std::string_view, 2> names_of(Precision) { return {"f32", "bf16"}; }
inline constexpr std::array<std::string_view, 5> names_of(PositionKind) {
  return {"none", "sinusoidal", "learned", "rotary", "alibi"};
}

inline constexpr std::int64_t kMostOwnLayers = 4096;

struct OwnModel {
  ModelKind kind = ModelKind::decoder;
  std::int64_t vocabulary = 0;
  MixerKind mixer = MixerKind::attention;
  std::int64_t length = 0;  // the longest sequence, of source and target alike
  std::int64_t layers = 2;  // of each of encoder and decoder
  std::int64_t hidden = 64;
  std::int64_t heads = 4;
  std::int64_t inner = 256;  // of the feed-forward part

  bool norm_first = true;  // NormPlace::before; else NormPlace::after
  NormKind norm = NormKind::layer;
  FeedForwardKind feed_forward = FeedForwardKind::gelu_tanh;
  PositionKind positions = PositionKind::learned;
  bool tied = true;       // the output layer is the table of words
  bool scaled = true;     // scores are divided by sqrt(d); turn it off to see why they are
  double epsilon = 1e-5;  // of the norms
};

// Throws std::invalid_argument for numbers that do not make a model. GRU layers have no heads, feed-forward
// part, norms or positions, so those settings are ignored.
ModelDescription describe(const OwnModel& own);

// The settings of a description whose layers are all alike; whatever they cannot express is left out.
OwnModel own_model_of(const ModelDescription& description);

// The names that attend's own family gives to a model's tensors, whatever family the model is of: the names
// of parameters.
TensorNames own_names(const ModelDescription& description);

}  // namespace attend::model
