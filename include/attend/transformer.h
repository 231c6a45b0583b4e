// A transformer from ids to contextual vectors: encoders, decoders with or without a cache, and encoders with
// a decoder. One forward pass serves them all; a description says what it is made of.
//
// Layers and heads have numbers, and numbers count from 1, here and in the lens; layer 0 is the embeddings.
// Texts, tokens and the axes of tensors have indices, from 0: head number h is index h - 1 along its axis.
#pragma once

#include <attend/attention.h>
#include <attend/blocks.h>
#include <attend/cache.h>
#include <attend/checkpoint.h>
#include <attend/model_description.h>
#include <attend/precision.h>
#include <attend/tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attend {

// Where the weights come from: a checkpoint, or anything else that has tensors by name. `file` is what errors
// call it.
struct TensorSource {
  std::string file;
  std::function<bool(const std::string& name)> contains;
  std::function<ConstTensorView(const std::string& name)>
      tensor;  // valid as long as a copy of this function lives
  std::function<void(const std::string& name)>
      forget{};  // called after the last use of a tensor; may be empty
  // The type and shape of a tensor without its numbers; may be empty where tensor() costs nothing.
  std::function<TensorForm(const std::string& name)> form{};
  // A matrix in the blocks in which it is stored; empty, or none, where it is stored as numbers. Valid as
  // those of tensor().
  std::function<std::optional<StoredBlocks>(const std::string& name)> blocks{};
};

// Those of a checkpoint, which they keep open.
TensorSource tensors_of(const Checkpoint& checkpoint);

// Texts as ids, one after another, never padded: text s is ids [ends[s], ends[s + 1]).
struct TokenBatch {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types;  // one for each id; none: all 0. A model without token types ignores them
  std::vector<std::int64_t> ends{0};

  void add(std::span<const std::int32_t> text, std::span<const std::int32_t> text_types = {});
  std::int64_t texts() const { return static_cast<std::int64_t>(ends.size()) - 1; }
  std::int64_t tokens() const { return static_cast<std::int64_t>(ids.size()); }
};

// One layer, shown while it happens; the views last as long as the call. With q, k, options and row_state
// attention_rows() and summarize_weights() answer every question about the weights.
struct LayerMoment {
  std::int64_t layer = 0;         // 0: the embeddings, which have no attention; then 1, 2, ...
  ConstTensorView hidden{};       // (tokens, E): what leaves the layer
  ConstTensorView q{}, k{}, v{};  // (tokens, H, D), packed
  // (tokens, H, D): the weighted sums of the values, before the output projection and after the pass's edits,
  // which change nothing else here: weights are those that the layer would have without them.
  ConstTensorView attended{};
  AttentionOptions options{};
  ConstRowStateView row_state{};
  std::shared_ptr<const void>
      options_owner{};  // a copy keeps alive what the views in options refer to; the other views do not last
};
using LayerObserver = std::function<void(const LayerMoment& moment)>;

// A head whose attended values are multiplied by `scale` before the output projection; 0 removes it.
struct HeadEdit {
  std::int64_t layer = 1, head = 1;
  double scale = 0;
};

// A weight that is multiplied by `scale`: how much the token at place `query` of a text takes from the one at
// place `key`. The others stay as they are, so the row no longer adds up to 1.
struct EdgeEdit {
  static constexpr std::int64_t kEveryLayer = 0, kEveryHead = 0;
  std::int64_t layer = kEveryLayer, head = kEveryHead;
  std::int64_t query = 0, key = 0;
  std::int64_t text = 0;  // which of the batch
  double scale = 0;
};

// A head whose attended values are replaced before the output projection, for example by those of another
// text: activation patching.
struct HeadPatch {
  std::int64_t layer = 1, head = 1;
  std::int64_t text = 0;                // which of the batch
  std::optional<std::int64_t> token{};  // one of that text; default: all
  ConstTensorView values{};             // (tokens of that text, D), f32
};

// A pass that continues from what left a layer, instead of starting with the batch's own embeddings. The
// layers up to there do not run, and an observer does not see them.
struct PassStart {
  std::int64_t layer = 0;    // 0: the embeddings
  ConstTensorView hidden{};  // (tokens, E), f32
};

// Changes to a pass while it runs, to see their effect. Several edits of one thing multiply, after any patch
// of it; their order does not matter. Of several patches of one value the last one counts.
struct PassEdits {
  std::vector<HeadEdit> heads{};
  std::vector<EdgeEdit> edges{};
  std::vector<HeadPatch> patches{};
  std::optional<PassStart> start{};
  bool change_heads() const noexcept { return !heads.empty() || !edges.empty() || !patches.empty(); }
  bool empty() const noexcept { return !change_heads() && !start; }
};

// How a number L changes with the intermediate values of a pass: dL / d each element.
struct PassGradients {
  Tensor embeddings;             // (tokens, E): of what leaves layer 0
  std::vector<Tensor> attended;  // (tokens, H, D): of LayerMoment::attended of layers 1, 2, ...

  // That of a weight follows: dL / dw_ij = the inner product of attended_i and v_j.
};

// One layer taken apart, for some tokens; f32. The stream and what is added to it: middle = stream +
// attention, out = middle + feed_forward; where norms stand after the sums, as in BERT, middle and out are
// the norms of these.
struct LayerParts {
  Tensor attention_input{};  // (rows, E): what attention reads: the norm of the stream, or the stream
  // (rows, H, E): what each head adds. Where attention's output has a norm of its own, what it divides by is
  // held fixed, so that the heads and what belongs to none of them, such as a bias, add up to `attention`.
  Tensor heads{};
  Tensor attention{};           // (rows, E)
  Tensor middle{};              // (rows, E): the stream after attention
  Tensor feed_forward_input{};  // (rows, E); no elements in a layer without a feed-forward part
  Tensor feed_forward{};        // likewise
  Tensor out{};                 // (rows, E): the stream after the layer, before any final norm
};

// Some tokens of one text, which several processes read together (attend/spread_text.h): what the layers need
// of the others.
struct TextShare {
  std::int64_t length = 0;             // tokens of the whole text
  std::vector<std::int64_t> places{};  // in the text, of each token that is given
  // attention() over the whole text for these tokens: q, k, v and out are theirs, (1, heads, tokens, size);
  // options are the layer's.
  std::function<void(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
                     TensorView out)>
      attention{};
};

// The keys and values that a model has computed so far while writing: those of each layer and, in layers that
// look at a source, those of the source.
class TransformerCache {
 public:
  // In a smaller type the keys and values are rounded as they are written, and products are as exact as
  // before.
  explicit TransformerCache(const ModelDescription& description, CacheType type = CacheType::f32);

  std::int64_t length() const noexcept;  // tokens read so far, without the source
  std::int64_t bytes() const;            // that it takes, with its spare room
  bool has_source() const noexcept { return has_source_; }
  void clear() noexcept;               // all tokens; not the source
  void truncate(std::int64_t length);  // keeps the first `length` tokens

  // By the number of a layer outside the encoder: what attention_rows() and summarize_weights() need besides
  // a query. For a layer that looks at a source, the source's.
  const KeyValueCache& layer(std::int64_t number) const;

 private:
  friend class Transformer;
  void require_for(const ModelDescription& description) const;

  std::int64_t encoder_layers_ = 0;
  std::vector<KeyValueCache> layers_;  // of the layers after the encoder's
  std::vector<LayerKind> kinds_;
  bool has_source_ = false;
};

// Tokens of one text, to be read after all that its cache holds.
struct NextTokens {
  std::span<const std::int32_t> ids{};
  TransformerCache* cache = nullptr;
};

// How a model computes.
struct ModelOptions {
  // Of the products with the layers' matrices and of attention. Gradients are those of the matrices as they
  // are then held, in f32.
  Precision precision = Precision::f32;
};

class Transformer {
 public:
  // Packs the weights, once. Throws FileError for a tensor that is missing or of another shape.
  Transformer(const ModelDescription& description, const TensorSource& tensors,
              const ModelOptions& options = {});
  ~Transformer();
  Transformer(Transformer&&) noexcept;
  Transformer& operator=(Transformer&&) noexcept;

  const ModelDescription& description() const noexcept;
  Precision precision() const noexcept;

  // The vectors that leave the last layer, or layer number `layers`, (tokens, E). f32. A text's vectors have
  // the same bits whatever the other texts and the number of threads. Throws std::invalid_argument for ids
  // outside the vocabulary, texts longer than there are positions, and edits of what does not exist.
  void forward(const TokenBatch& batch, TensorView out, const LayerObserver& observer = {},
               std::optional<std::int64_t> layers = {}, const PassEdits& edits = {}) const;
  Tensor forward(const TokenBatch& batch, const LayerObserver& observer = {},
                 std::optional<std::int64_t> layers = {}, const PassEdits& edits = {}) const;

  // The same for these tokens of one text, each of which has the bits that it has in the text if attention
  // does. Throws std::invalid_argument for a model with a source or with relative positions.
  Tensor forward(std::span<const std::int32_t> ids, const TextShare& share,
                 std::optional<std::int64_t> layers = {}) const;

  // The gradients of a number that depends on the vectors which forward() returns for the same batch and
  // layers, from its gradient with respect to them: d_out (tokens, E), of any floating type. f32. Memory is
  // O(n) per layer and, from the first call on, a transposed copy of the model's matrices. A text's gradients
  // have the same bits whatever the other texts and the number of threads.
  // embeddings (tokens, E), f32: what enters the first layer instead of the batch's own.
  PassGradients gradients(const TokenBatch& batch, ConstTensorView d_out,
                          std::optional<std::int64_t> layers = {}, ConstTensorView embeddings = {}) const;

  // The vectors of any layer as they would leave the model: through the final norm, where the model has one.
  // hidden (rows, E), f32; out may be hidden. The vectors that leave the last layer have been through it
  // already.
  void apply_final_norm(ConstTensorView hidden, TensorView out) const;

  // Reads these tokens after all that the cache holds, and adds them to it: the vectors that leave the last
  // layer for them, (ids, E). The model is causal, or has a source, which read_source() put into the cache.
  // Throws std::invalid_argument for a model that does not write, ids outside the vocabulary and more tokens
  // than there are positions.
  Tensor read(std::span<const std::int32_t> ids, TransformerCache& cache) const;
  // The same for several texts in one pass, which costs little more than one of them: the vectors of all
  // tokens, text after text. Each has the bits that it has alone. Where it throws, no cache has changed.
  Tensor read(std::span<const NextTokens> texts) const;
  // Reads what a model with an encoder and a decoder will answer: it replaces the previous source, and the
  // target is forgotten.
  void read_source(std::span<const std::int32_t> ids, TransformerCache& cache) const;

  // The bare rows of the table of words, (ids, description().table_size()), as the checkpoint has them: no
  // position, no norm.
  Tensor word_rows(std::span<const std::int32_t> ids) const;

  // What a layer does with some tokens, part by part: stream (rows, E) is what enters it, attended (rows, H,
  // D) what its heads gathered for them (LayerMoment::attended); f32.
  LayerParts layer_parts(std::int64_t layer, ConstTensorView stream, ConstTensorView attended) const;

  // The final norm, with what it divides by held at its value for this stream (E), is linear: for another
  // vector x, direction · norm(x) = slope · x + constant. Where there is no final norm, slope is direction.
  struct HeldNorm {
    std::vector<double> slope{};
    double constant = 0;
  };
  HeldNorm held_final_norm(ConstTensorView stream, std::span<const double> direction) const;

  // What values of one head become in the vectors that leave its layer's attention: values (rows, D) times
  // that head's part of the output projection, (rows, E). Its bias belongs to no head and is left out.
  void project_head(std::int64_t layer, std::int64_t head, ConstTensorView values, TensorView out) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace attend
