// What a model that learns is made of.
#pragma once

#include <attend/model_config.h>

#include <cstdint>

namespace attend::train {

enum class ModelKind : std::uint8_t {
  encoder,          // every token sees every other
  decoder,          // a token sees those before it
  encoder_decoder,  // a decoder that also looks at what an encoder made of a source
};
// How a token learns of those before it: it looks at them, or it reads a state that they left.
enum class MixerKind : std::uint8_t { attention, gru };
using attend::NormKind;
using attend::PositionKind;
enum class FeedForwardKind : std::uint8_t { gelu, gelu_tanh, swiglu };

struct ModelShape {
  ModelKind kind = ModelKind::decoder;
  std::int64_t vocabulary = 0;
  MixerKind mixer = MixerKind::attention;
  std::int64_t length = 0;  // the longest sequence, of source and target alike
  std::int64_t layers = 2;  // of each of encoder and decoder
  std::int64_t hidden = 64;
  std::int64_t heads = 4;
  std::int64_t inner = 256;  // of the feed-forward part

  // A part reads the norm of what it adds to, and there is one more norm at the end (GPT-2); or the norm
  // stands behind each sum, and one behind the embeddings (BERT).
  bool norm_first = true;
  NormKind norm = NormKind::layer;
  FeedForwardKind feed_forward = FeedForwardKind::gelu_tanh;
  PositionKind positions = PositionKind::learned;
  bool typed = false;      // one vector more, the same for every token: BERT's token type
  bool guesses = true;     // tokens; else there is no output layer, and only the vectors of tokens are used
  bool tied = true;        // the output layer is the table of words
  bool scaled = true;      // scores are divided by sqrt(d); without it one sees why they are
  double epsilon = 1e-5;   // of the norms
  double dropout = 0;      // of embeddings, weights and what each part adds
  bool recompute = false;  // keep only what enters a block, and run the block again on the way back
};

// The same, where choices that are of no use to layers of GRUs are as if they were not there: heads, the
// feed-forward part, norms, positions, and running a block again.
ModelShape settled(ModelShape shape);

// As config.json may have them, so that every model that learns can be read again; and the product of two
// sizes counts in 64 bits.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 24, kMostLayers = 4096;

// Throws std::invalid_argument, in one sentence, for numbers that make no model.
void check(const ModelShape& shape);

}  // namespace attend::train
