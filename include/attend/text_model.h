// A model that reads text: a tokenizer, a transformer, and how its folder says to make one vector of a text.
#pragma once

#include <attend/model_files.h>
#include <attend/pooling.h>
#include <attend/sequence_head.h>
#include <attend/token_head.h>
#include <attend/tokenizer.h>
#include <attend/transformer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// What is not given comes from the model's folder.
struct EmbedOptions {
  std::vector<Pooling> pooling{};   // several go side by side; a folder that says nothing means the mean
  std::optional<bool> normalize{};  // each vector to length 1
  // Vectors that leave this layer: 0 the embeddings, then 1, 2, ...; default: the last.
  std::optional<std::int64_t> layer{};
  std::optional<std::int64_t> max_tokens{};  // of a text, special ones included; what is longer is cut
  std::optional<std::string> prompt{};       // put in front of every text
  // How many tokens go through a layer at once: changes time and memory, but not one bit of the result.
  std::int64_t batch_tokens = 2048;
};

// A text alone, or a pair that is read as one: a query and a passage, a premise and a hypothesis.
struct TextPair {
  std::string_view first{};
  std::optional<std::string_view> second{};
};

struct PredictOptions {
  std::optional<ScoreFunction> function{};  // default: SequenceHead::cross_encoder_function()
  std::optional<std::int64_t>
      max_tokens{};                     // of a text or pair, special ones included; what is longer is cut
  std::optional<std::string> prompt{};  // put in front of the first text of each pair; default: the folder's
  std::int64_t batch_tokens = 2048;     // as in EmbedOptions
};

// A passage and how well it answers.
struct RankedPassage {
  std::int64_t index = 0;  // among those that were given
  float score = 0;
};

class TextModel {
 public:
  // A folder, or the name of a model in the hub's cache. Throws FileError, also where its files contradict
  // each other.
  static TextModel load(std::string_view name_or_folder, const ModelOptions& options = {});

  const ModelFiles& files() const noexcept;
  const Tokenizer& tokenizer() const noexcept;
  const Transformer& transformer() const noexcept;
  // The part that guesses tokens, where the checkpoint has one.
  std::optional<TokenHead> token_head() const;
  // The part that scores whole texts, where config.json names one; read once. Throws FileError where the
  // checkpoint does not have what it says.
  std::optional<SequenceHead> sequence_head() const;

  // The most tokens that a text may have unless more are asked for: the least of what folder, tokenizer and
  // positions allow.
  std::int64_t max_tokens() const noexcept;
  // The most that can be asked for: one for each position. A sentence model's folder may say less than that.
  std::int64_t most_tokens() const noexcept;
  // The size of a text's vector.
  std::int64_t embedding_size(const EmbedOptions& options = {}) const;

  // What embed() puts in front of a text: the prompt that is given, else the folder's default, else nothing.
  std::string prompt_of(const EmbedOptions& options) const;

  // Cut to max_tokens(), or to what is given, up to most_tokens().
  Encoding encode(std::string_view text, std::optional<std::int64_t> max_tokens = {}) const;
  Encoding encode(std::string_view first, std::string_view second,
                  std::optional<std::int64_t> max_tokens = {}) const;

  // Throws FileError when the files of the weights were changed or cut short since they were opened; embed()
  // calls it itself.
  void require_intact() const;

  // One vector a text: (texts, embedding_size()), f32. A text's vector has the same bits whatever other texts
  // are given. Texts may also be given already tokenized.
  Tensor embed(std::span<const std::string_view> texts, const EmbedOptions& options = {}) const;
  Tensor embed(std::span<const Encoding> texts, const EmbedOptions& options = {}) const;

  // What embed() makes of a text whose tokens have these vectors, of the layer that the options name:
  // (tokens, E) to (1, embedding_size()).
  Tensor vector_of(ConstTensorView hidden, const EmbedOptions& options = {}) const;

  // The scores of each text or pair, one for each label of the model: (texts, labels), f32. The same bits
  // whatever other texts are given. Throws std::invalid_argument for a model without a sequence_head().
  Tensor predict(std::span<const TextPair> texts, const PredictOptions& options = {}) const;
  Tensor predict(std::span<const Encoding> texts, const PredictOptions& options = {}) const;

  // The passages by their score for a query, the best first, equal ones in the order in which they are given,
  // NaN last. Throws std::invalid_argument for a model that gives more than one score.
  std::vector<RankedPassage> rank(std::string_view query, std::span<const std::string_view> passages,
                                  const PredictOptions& options = {}) const;

 private:
  struct Parts;
  Tensor finished(Tensor pooled, const EmbedOptions& options) const;
  explicit TextModel(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace attend
