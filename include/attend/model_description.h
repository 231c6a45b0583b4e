// What a transformer is made of: one description, which the forward pass, training, the lens and the page
// read. A family (src/model/families) turns its config.json into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <attend/attention.h>
#include <attend/file_error.h>
#include <attend/matmul.h>
#include <attend/pooling_kind.h>
#include <attend/positions.h>

namespace attend {

class ModelFile;

enum class NormKind : std::uint8_t { layer, rms };

// Where the norm of a part f stands; x is the stream that the part adds to.
enum class NormPlace : std::uint8_t {
  before,  // x + f(norm(x)): GPT-2, Llama
  after,   // norm(x + f(x)): BERT
  around,  // x + norm(f(norm(x))): Gemma 2 and 3
  inside,  // x + norm(f(x)): OLMo 2
};

struct NormDescription {
  NormKind kind = NormKind::layer;
  NormPlace place = NormPlace::after;
  double epsilon = 1e-12;
  bool plus_one = false;  // a stored weight w counts as 1 + w: Gemma. Added once, when the file is read
  bool bias = true;       // of LayerNorm; RMSNorm never has one
};

enum class PositionKind : std::uint8_t { none, sinusoidal, learned, rotary, alibi, relative };

// Norms of queries and keys, before they meet: of each head separately, or of all heads as one vector.
enum class QueryKeyNorm : std::uint8_t { none, heads, whole };

// Which tokens of a text look at which in a layer. In a model with an encoder and a decoder a text is a
// source followed by a target: its tokens of type 1.
enum class LayerKind : std::uint8_t {
  whole,      // all at all, or at those before them
  encoder,    // those of the source at each other
  decoder,    // those of the target at those before them
  cross,      // those of the target at the source
  recurrent,  // none: gated recurrent units pass a state on. Supported in training only
};

struct AttentionDescription {
  std::int64_t heads = 0;      // of queries; the same in all layers
  std::int64_t key_heads = 0;  // of keys and values: a divisor of heads
  std::int64_t head_size = 0;
  bool bias = true;                                  // of queries, keys and values
  bool output_bias = true;                           // of the product that puts the heads together
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;  // of the layer's kind and epsilon
  std::optional<double> scale{};                     // of scores; default: 1 / sqrt(head_size)
  double softcap = 0;                                // 0: none
  bool sinks = false;  // a learned logit for each head, which takes weight and gives no value
  bool causal = false;
  Window window{};  // default: unlimited

  // How scores depend on positions: rotary, alibi or relative. Those of the embeddings are in
  // ModelDescription.
  PositionKind positions = PositionKind::none;
  Rotary rotary{};  // where positions are rotary
  // Where they are relative. One table is shared by all layers; in a model with an encoder and a decoder by
  // those of the encoder, and another by those of the decoder.
  RelativeBuckets relative_buckets{0};
};

struct FeedForwardDescription {
  std::int64_t size = 0;  // of the inner vector
  Activation activation = Activation::gelu;
  bool gated = false;  // activation(gate) * up, two products of the same input: SwiGLU, with silu
  bool bias = true;
  bool parallel = false;  // reads what attention reads, and both add to the stream: GPT-NeoX
};

// One attention, and the feed-forward part that follows it, where there is one: in a decoder that also looks
// at a source it follows the second attention.
struct LayerDescription {
  LayerKind kind = LayerKind::whole;
  NormDescription norm{};
  bool attention_norm = true;  // else attention reads the stream as it is: the first layer of ModernBERT
  AttentionDescription attention{};
  std::optional<FeedForwardDescription> feed_forward{};
  std::optional<std::int64_t> weights_of{};  // the number of an earlier layer that has the same: ALBERT
};

// What makes scores of the logits of a text.
enum class ScoreFunction : std::uint8_t { identity, sigmoid, softmax };

// Of a checkpoint that scores whole texts: a classifier, or a cross-encoder of pairs.
struct SequenceHeadDescription {
  std::vector<std::string> labels{};                           // one for each score, at least one
  ScoreFunction classifier_function = ScoreFunction::softmax;  // by problem_type and the number of labels
  std::string activation{};  // sentence-transformers' activation_fn, the path of a class of Python; or empty
  Pooling pooling = Pooling::cls;  // the vector that is scored: cls, mean or last_token
  // With last_token: tokens that do not count as the last one, if any other is there.
  std::optional<std::int64_t> padding{};
};

struct ModelDescription {
  std::string family{};                      // the name of its file in src/model/families: "bert", "gpt2"
  std::string model_type{};                  // as config.json has it: "xlm-roberta", of the family roberta
  std::vector<std::string> architectures{};  // "BertForMaskedLM"; may be empty

  std::int64_t hidden_size = 0;
  std::int64_t vocabulary_size = 0;

  // Embeddings: a row of the table of words, one of the types and one of the positions, added.
  PositionKind positions = PositionKind::learned;  // learned, sinusoidal or none
  std::int64_t position_count = 0;                 // rows of the table, or the most there may be
  std::int64_t first_position = 0;                 // the row of the first token: 2 in RoBERTa and MPNet
  std::int64_t token_types = 0;                    // 0: the family has none
  double embedding_scale = 1;                      // of the rows of the table of words: sqrt(E) in Gemma
  std::optional<NormDescription> embedding_norm{};
  // Of the rows of these tables, where a linear layer after the norm makes hidden vectors of them: ELECTRA
  // and ALBERT. Not given: hidden_size, and there is no such layer.
  std::optional<std::int64_t> embedding_size{};
  std::int64_t table_size() const noexcept { return embedding_size.value_or(hidden_size); }

  std::vector<LayerDescription> layers{};
  std::optional<NormDescription> final_norm{};

  // The output layer, which guesses tokens.
  bool tied_output = true;    // it is the table of words
  double output_scale = 1;    // of what enters it: 1 / sqrt(hidden_size) in T5 where it is tied
  double output_softcap = 0;  // c: a logit x becomes c tanh(x / c); 0: it stays as it is

  std::optional<SequenceHeadDescription> sequence_head{};  // where config.json names such a class

  // How many of the first layers are the encoder, where there are an encoder and a decoder; else 0. The final
  // norm then comes once after them and once after the last.
  std::int64_t encoder_layers = 0;
  std::optional<std::int32_t> start_token{};  // the first of the target; the answer follows it
  std::optional<std::int32_t> pad_token{};
  std::vector<std::int32_t> end_tokens{};  // a text is complete after one of these, as config.json says

  std::int64_t layer_count() const noexcept { return static_cast<std::int64_t>(layers.size()); }
  const LayerDescription& layer(std::int64_t number) const {  // from 1
    return layers.at(static_cast<std::size_t>(number) - 1);
  }
  LayerKind layer_kind(std::int64_t number) const { return layer(number).kind; }  // from 1
  std::string layer_name(std::int64_t number) const;  // "3", or "encoder 3", "decoder 1", "cross 1"

  std::int64_t heads() const noexcept { return layers.empty() ? 0 : layers.front().attention.heads; }
  std::int64_t largest_inner_size() const noexcept;
  bool has_source() const noexcept { return encoder_layers > 0; }
  // Whether each token of a text sees only those before it, so that the model can write.
  bool is_causal() const noexcept;
  // Whether any layer's scores, or the embeddings, use positions of this kind.
  bool uses(PositionKind kind) const noexcept;

  // Whether a text that grows from some tokens to more is rotated differently in all its places, so that it
  // has to be read again from its beginning: Rotary::long_text.
  bool rotation_changes(std::int64_t tokens_before, std::int64_t tokens_after) const noexcept;

  // The most tokens that have positions; of source and target each, where there are both.
  std::int64_t max_tokens() const noexcept { return position_count - first_position; }
};

// The names of the enumerations above, as config.json of attend's own family and `attend train` have them.
std::string_view name_of(NormKind kind) noexcept;          // "layer", "rms"
std::string_view name_of(NormPlace place) noexcept;        // "before", ...
std::string_view name_of(PositionKind kind) noexcept;      // "none", "sinusoidal", ...
std::string_view name_of(Activation activation) noexcept;  // "none", "gelu", "gelu_tanh", "relu", "silu"

std::string_view name_of(ScoreFunction function) noexcept;  // "identity", "sigmoid", "softmax"
std::optional<ScoreFunction> score_function_named(std::string_view name) noexcept;

// The largest that any size of a model may be, so that the product of two fits in 64 bits.
inline constexpr std::int64_t kLargestModelSize = std::int64_t{1} << 24, kMostModelLayers = 4096 * 3;

// Throws std::invalid_argument, in one sentence, for numbers that do not make a model.
void check(const ModelDescription& description);

// What a config.json says. Throws FileError, with the key, for a family or an option that attend does not
// support, and for numbers that make no sense. Keys that do not change what a model computes are ignored.
ModelDescription read_model_description(const std::filesystem::path& config_json);
ModelDescription read_model_description(const ModelFile& config_json);  // as find_model() opened it

// The supported families:  "attend, bert, distilbert, ...".
std::vector<std::string_view> family_names();

}  // namespace attend
