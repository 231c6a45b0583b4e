// What attention did with a text: who looked at whom, and what was taken. From queries, keys and row states,
// exactly, for the rows that are asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <attend/text_model.h>
#include <attend/transformer.h>
#include <attend/words.h>

namespace attend {

struct Recording;  // of lens_recording.h

// How much of a pass a reading keeps. For 8,192 tokens and a model of 6 layers × 384: 320, 265 and 13 MB.
enum class Keep : std::uint8_t {
  all,         // hidden states, queries, keys and values of every layer
  attention,   // queries, keys and values of every layer, the embeddings, and what leaves the last layer
  last_state,  // what leaves the last layer
};

struct ReadingOptions {
  std::optional<std::int64_t> max_tokens{};  // default: as many as the model can read
  // Keep only this layer: for questions about its heads in a long text. Layers after it are not run.
  std::optional<std::int64_t> only_layer{};
  Keep keep = Keep::all;
};

// Tokens [first, last).
struct TokenRange {
  std::int64_t first = 0, last = 0;
  std::int64_t size() const noexcept { return last - first; }
  bool contains(std::int64_t token) const noexcept { return token >= first && token < last; }
};

// Where the numbers of a pass stop being finite: the first token of the first part of the first layer that
// holds a NaN or an infinity. Everything computed from it is NaN, too.
struct NotFinite {
  std::int64_t layer = 0;  // 0: the embeddings
  std::string part{};      // "embeddings"; "queries", "keys", "values", "attended values" or "output"
  std::int64_t token = 0;  // from 0
};

// One pass of a model over a text, with everything that questions about its attention need. Memory is O(n):
// the hidden states, queries, keys and values of every layer, and no weights.
class Reading {
 public:
  // second: the other text of a pair; for a model with an encoder and a decoder its answer, which the model
  // writes itself if this is empty. Text that is longer than the model can read is cut: tokens().dropped.
  Reading(const TextModel& model, std::string text, std::string second = {},
          const ReadingOptions& options = {});

  // Reads the same text again, with edits.
  Reading(const Reading& original, const PassEdits& edits, Keep keep = Keep::all);

  // A pass that another program made. Throws std::invalid_argument where its parts do not fit together.
  explicit Reading(Recording recording);

  // A recorded pass has no model: what needs its weights or its vocabulary is refused by model(), which then
  // throws std::invalid_argument.
  bool has_model() const noexcept { return model_.has_value(); }
  const TextModel& model() const;
  const std::string& model_name() const noexcept;
  const std::string& family() const noexcept;
  bool is_causal() const noexcept;                        // every token sees only what came before it
  bool has_source() const noexcept;                       // an encoder and a decoder
  std::string_view token_name(std::int64_t token) const;  // as the vocabulary writes it

  const std::string& text() const noexcept { return text_; }
  const std::string& second() const noexcept { return second_; }
  // What a model with an encoder and a decoder wrote by itself: second(), and the last token where it stopped
  // for want of room, which no token looks back at. Empty where the second text was given.
  const std::string& answer() const noexcept { return answer_; }
  // The token that the target begins with, in a model with an encoder and a decoder.
  std::optional<std::int64_t> target_begins() const noexcept {
    return has_source() ? std::optional(source_) : std::nullopt;
  }
  const Encoding& tokens() const noexcept { return tokens_; }
  const std::vector<Word>& words() const noexcept { return words_; }
  // Whether a token is the vocabulary's [UNK], which stands for text that the model cannot see. Of a
  // recording nothing is known, and the answer is no.
  bool is_unknown(std::int64_t token) const;
  // The tokens of the text that are [UNK].
  std::int64_t unknown_tokens() const;
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t layers() const noexcept;  // kept or not
  std::int64_t heads() const noexcept;

  // Several heads may share keys and values: how many of these a layer has, and the number of those that a
  // head reads, from 1 as heads count. In most layers there are as many as heads.
  std::int64_t key_heads(std::int64_t layer) const noexcept;
  std::int64_t key_head(std::int64_t layer, std::int64_t head) const noexcept {
    return (head - 1) / (heads() / key_heads(layer)) + 1;
  }

  // The tokens that look at others in a layer, and those that are looked at: source or target in a model with
  // an encoder and a decoder, all tokens in others. The row of a token that does not look is 0, and means
  // over layers are over those in which it does.
  TokenRange looking(std::int64_t layer) const noexcept;
  TokenRange looked_at(std::int64_t layer) const noexcept;
  // The layer that was asked for, where no other is kept.
  std::optional<std::int64_t> only_layer() const noexcept { return only_layer_; }
  std::string layer_name(std::int64_t layer) const;

  // Where NaN or infinity first appeared, if it did: the weights hold one, or an edit or a sum overflowed.
  const std::optional<NotFinite>& not_finite() const noexcept { return not_finite_; }

  // What leaves a layer, (n, E); 0 are the embeddings. Throws, as layer() does, for one that was not kept.
  ConstTensorView hidden(std::int64_t layer) const;

  // Attention's part of layers 1, 2, ...: (n, H, D), packed. No elements where it was not kept.
  struct Layer {
    Tensor hidden, q, k, v;
    RowState state;
    AttentionOptions options{};
    std::shared_ptr<const void> options_owner{};
  };
  const Layer& layer(std::int64_t layer) const;

 private:
  // What a recording says in place of a model.
  struct Recorded {
    std::string model, family;
    std::vector<std::string> tokens{};
    std::int64_t heads = 0;
    bool causal = false;
  };

  void run(const PassEdits& edits, Keep keep);
  const ModelDescription& description() const noexcept { return model_->transformer().description(); }

  std::optional<TextModel> model_;  // or else
  std::optional<Recorded> recorded_;
  std::string text_, second_, answer_;
  std::optional<std::int64_t> only_layer_;
  Encoding tokens_;
  std::int64_t source_ = 0;  // tokens before the target's; all, where there is none
  std::vector<Word> words_;
  Tensor embeddings_;
  std::vector<Layer> layers_;  // those that are kept
  std::optional<NotFinite> not_finite_;
};

// "Not all numbers are finite: NaN or infinity first appears in the queries of layer 1, at token 2 (bank)."
std::string sentence_of(const Reading& reading, const NotFinite& where);

// Which heads to look at: one, all of a layer, or (neither given) those of all layers. Several are averaged.
// A head needs its layer.
struct HeadChoice {
  std::optional<std::int64_t> layer{}, head{};
};

enum class LensMethod : std::uint8_t {
  raw,   // the weights themselves
  norm,  // how long the vector is that a token contributes: |weight · value · Wo|, as a share of the row.
         // Over the heads of a layer the vectors are added before they are measured
  rollout,  // how much of each input token has arrived, over all paths: the product of the layers up to the
            // chosen one (default: the last), each (weights + identity) / 2, the mean over heads (Abnar and
            // Zuidema 2020)
  flow,     // the most that can flow from each input token through those same layers as a network of pipes
            // (likewise). One row at a time, and not a distribution: each token's flow is found separately
  grad,     // weight · its gradient towards a chosen output, where that is positive; the mean over heads
            // (Chefer, Gur and Wolf 2021). Not a distribution: rows that matter more have more
};
std::string_view name_of(LensMethod method) noexcept;
std::optional<LensMethod> lens_method_named(std::string_view name) noexcept;
std::vector<std::string_view> lens_method_names();

struct LensQuery {
  LensMethod method = LensMethod::raw;
  HeadChoice heads{};
  const PassGradients* gradients = nullptr;  // for grad: gradients_towards() of lens_change.h
};

// There is no flow for texts of more tokens than this: it takes one search of a network of layers × n² pipes
// for each token.
inline constexpr std::int64_t kMostFlowTokens = 160;

// The tokens of a reading one by one, in the form of words: for maps between tokens.
std::vector<Word> single_tokens(const Reading& reading);

// Neighbouring units merged into one, at most `count` at a time, in order; a special token stays on its own.
// For texts that have more words than a map has room for.
std::vector<Word> stretches_of(std::span<const Word> units, std::size_t count);

// For texts of more tokens than this, rollout is of one row at a time: all rows take n³ steps per layer.
inline constexpr std::int64_t kMostRolloutTokens = 2048;

// Who looks at whom, or takes from whom, between units, which are words(), single_tokens() or
// stretches_of() them: the sum over the tokens of a key, the mean over those of a query. One row, (units), or
// all, (units, units); f64. Each row adds up to 1, but for flow and grad; that of a token that does not look
// in the chosen layer is 0.
std::vector<double> lens_row(const Reading& reading, const LensQuery& query, std::span<const Word> units,
                             std::size_t unit);
Tensor lens_map(const Reading& reading, const LensQuery& query, std::span<const Word> units);

// Every row of that map, one after the other: take(unit, row), in order. The map itself never exists.
void lens_each_row(const Reading& reading, const LensQuery& query, std::span<const Word> units,
                   const std::function<void(std::size_t unit, std::span<const double> row)>& take);

// How much of a row goes to special tokens, such as [CLS] and [SEP], where heads put what they have no use
// for; and the row without them, made to add up to 1 again (to 0 where nothing is left).
double special_share(std::span<const double> row, std::span<const Word> units);
std::vector<double> without_special(std::span<const double> row, std::span<const Word> units);

// The vector of a word: the mean of its tokens', as they leave a layer. f64, (E).
std::vector<double> word_vector(const Reading& reading, std::size_t word, std::int64_t layer);
// The mean of the bare rows of its tokens in the table of words, before any context.
std::vector<double> static_word_vector(const Reading& reading, std::size_t word);

// Of two vectors of the same size; 0 where one of them is 0, NaN where one of them is not finite.
double cosine(std::span<const double> a, std::span<const double> b);

// One word in two places: how similar its vectors are at first, and how far its contexts move them apart.
struct WordComparison {
  double static_cosine = 0;
  std::vector<double> cosines;  // of what leaves layer 0 (the embeddings with position), 1, 2, ...

  // What the word took from every word of its text in layers 1, 2, ..., (layers, words): rows of `norm`.
  Tensor taken_first, taken_second;
};
WordComparison compare_word(const Reading& first, std::size_t word, const Reading& second,
                            std::size_t other_word);

}  // namespace attend
