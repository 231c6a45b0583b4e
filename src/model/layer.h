// The forward pass of one transformer layer, and the only implementation of it. A model that reads, one that
// writes with a cache and one that learns all run these functions; they differ in the memory that they pass
// in.
#pragma once

#include <attend/attention.h>
#include <attend/cache.h>
#include <attend/model_description.h>
#include <attend/tensor.h>
#include <attend/transformer.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/layer_math.h"
#include "model/operand.h"

namespace attend::model {

struct LinearWeights {
  Operand matrix{};
  ConstTensorView bias{};  // not given: none

  // out = activation(x w + bias) + residual
  void apply(ConstTensorView x, TensorView out, ConstTensorView residual = {},
             Activation activation = Activation::none) const {
    matrix.multiply(x, out, {.bias = bias, .activation = activation, .residual = residual});
  }
};

struct LayerWeights {
  LinearWeights projected{};  // queries, keys and values side by side: one product; of a cross layer queries
  LinearWeights context{};    // of a cross layer: keys and values of the source, side by side
  LinearWeights out{}, up{}, down{};
  NormWeights query_norm{}, key_norm{};
  NormWeights attention_norm{}, feed_forward_norm{};
  NormWeights attention_out_norm{}, feed_forward_out_norm{};  // NormPlace::around
};

// Queries, keys and values by heads as attention reads them, and what it writes: (rows, heads, size), or
// (sequences, heads, length, size).
struct HeadViews {
  TensorView q{}, k{}, v{}, attended{};
  RowStateView state{};
};

// What a layer may write in bf16, because whatever reads it rounds it first: half as much memory to go
// through, and the same bits.
struct HeldInBf16 {
  bool projected = false;  // queries, keys and values
  bool attended = false;
  bool inner = false;  // of the feed-forward part, activated
};

// Where nothing but the layer looks at them. heads: as attention would read them in f32.
HeldInBf16 held_in_bf16(const LayerDescription& layer, const LayerWeights& weights,
                        const AttentionOptions& options, const HeadViews& heads);

// What a layer writes. Where no backward pass follows, all layers of a pass share one memory, and
// x, after_attention and out may be one.
struct LayerMemory {
  TensorView projected{};        // (rows, columns of the product)
  TensorView context{};          // (rows of the source, columns): of a cross layer
  TensorView unnormed{};         // (rows, columns of q and k): before their norms, where they have any
  TensorView attended{};         // (rows, heads × size)
  TensorView after_attention{};  // (rows, E): the stream after the first part, where a second follows
  // (rows, E): what each part gave, before its own norm; includes x where the norm is that of the sum.
  TensorView attention_sum{}, feed_forward_sum{};
  TensorView product{};  // (rows, product_size): of the feed-forward part, before its activation
  HeadViews heads{};     // of projected and context; or of a longer text, in which these rows stand
};

// Scratch memory of a layer.
struct LayerRoom {
  TensorView normed{};     // (rows, E)
  TensorView branch{};     // (rows, E): with dropout, or norms around or inside
  TensorView activated{};  // (some rows, size of the feed-forward part): where a backward pass follows
};

// Dropout of what a layer's parts add; that of weights is in the options.
struct LayerDropout {
  double probability = 0;
  std::uint64_t seed = 0;
  std::uint64_t attention_stream = 0, feed_forward_stream = 0;
};

// Rows [first, last) of a pass, which are read after what a cache holds; the options are this text's.
struct CachedRows {
  KeyValueCache* cache = nullptr;
  std::int64_t first = 0, last = 0;
  AttentionOptions options{};
};

// One layer in one pass.
struct LayerRun {
  const LayerDescription& layer;
  const LayerWeights& weights;
  const AttentionOptions& options;
  LayerMemory memory{};
  LayerRoom room{};
  ConstTensorView cosines{}, sines{};  // (rows or length, pairs), where positions are rotary
  bool keep = false;                   // a backward pass follows
  LayerDropout dropout{};
  // Read instead of this pass's keys and values, for each text of it: all those so far, to which this pass's
  // are appended; or, in a cross layer, those of the source.
  std::span<const CachedRows> cached{};
  // What computes attention instead of attention(), where the keys are not all here.
  const TextShare* share = nullptr;
  std::function<void()> after_attention{};  // may change memory.attended

  // The stream x (rows, E) becomes out. source: what a cross layer looks at, unless it is in the cache.
  void forward(ConstTensorView x, ConstTensorView source, TensorView out) const {
    attend(x, source);
    finish(x, out);
  }

  // The two halves of that: what each token gathers, into memory.attended; and what becomes of it. Without
  // out the second goes as far as memory.product.
  void attend(ConstTensorView x, ConstTensorView source) const;
  void project(
      ConstTensorView x) const;  // its beginning: queries, keys and values, before norms and positions
  void finish(ConstTensorView x, TensorView out) const;

  // Rows that are activated together where a backward pass follows: the widest tensors of a model then take a
  // quarter of the memory for a batch of 4096 tokens, and stay in the outer cache.
  static constexpr std::int64_t kActivatedRows = 1024;

 private:
  ConstTensorView read(const NormWeights& norm, ConstTensorView x) const;
  template <class Part>
  void add_part(const NormWeights& norm, std::uint64_t stream, ConstTensorView x, TensorView sum,
                TensorView out, const Part& part) const;
  void normalise_heads() const;
  void rotate() const;
  void feed_forward(ConstTensorView x, TensorView out, ConstTensorView residual) const;
};

// Columns of queries, of keys, and of values.
inline std::int64_t query_columns(const AttentionDescription& attention) {
  return attention.heads * attention.head_size;
}
inline std::int64_t key_columns(const AttentionDescription& attention) {
  return attention.key_heads * attention.head_size;
}
// Columns of the product that a layer makes of its input.
inline std::int64_t projected_columns(const LayerDescription& layer) {
  return query_columns(layer.attention) +
         (layer.kind == LayerKind::cross ? 0 : 2 * key_columns(layer.attention));
}

// Queries, keys and values of rows that hold them side by side.
HeadViews head_views(const LayerDescription& layer, TensorView projected, TensorView context);

// Queries and keys of a self-attention layer, in the shape that rotary positions turn: (..., heads, rows,
// size). Of `heads`, where those are sequences side by side, (sequences, heads, length, size); else of the
// rows.
std::array<TensorView, 2> rotating_views(const LayerDescription& layer, const HeadViews& heads,
                                         TensorView projected);

// Whether a part reads the norm of the stream, or the stream itself.
inline bool reads_norm(NormPlace place) { return place == NormPlace::before || place == NormPlace::around; }

}  // namespace attend::model
