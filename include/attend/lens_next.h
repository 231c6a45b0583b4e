// What a model that writes expects next, layer by layer, and what made it expect that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <attend/lens.h>
#include <attend/lens_change.h>

namespace attend {

// The logit lens (nostalgebraist 2020): what the model would say if it ended after a layer. The vector that
// leaves the layer goes through the final norm, computed for this vector, and through the output layer.
struct LayerGuesses {
  std::int64_t layer = 0;             // 0: the embeddings
  std::vector<TokenGuess> guesses{};  // the most probable first
  // For the watched token: how probable it is, and how many tokens are more probable.
  double probability = 0;
  std::int64_t rank = 0;
};

// For all layers, from the embeddings on, at one place. watched: by default the token that the last layer
// finds most probable.
struct LogitLens {
  std::int32_t watched = 0;
  std::vector<LayerGuesses> layers{};
};
LogitLens logit_lens(const Reading& reading, std::int64_t place, std::size_t most,
                     std::optional<std::int32_t> watched = {});

// The tokens after each of which the model expects another: all in a model that writes, those of the target
// where it has a source, and none, (0, 0), in others.
TokenRange expects_next(const Reading& reading);

// The same for many places and layers, with what any temperature needs, computed in f32. At temperature T the
// probability of guess i is exp(logits[i] / T - log_sums[t]), t being the index of T.
struct PlaceGuesses {
  std::vector<std::int32_t> tokens{};  // the most probable first
  std::vector<double> logits{};        // of these, less the largest, so that the first is 0
  std::vector<double> log_sums{};      // log of the sum of exp((logit - largest) / T) over the vocabulary
  double watched = 0;                  // of the watched token, likewise; -infinity where there is none
};
struct GuessPlace {
  std::int64_t place = 0, layer = 0;      // 0: the embeddings
  std::vector<double> temperatures{1.0};  // each positive
  std::optional<std::int32_t> watched{};
};
// Needs a reading that kept the attention of all layers. Throws std::invalid_argument for a model that does
// not write.
std::vector<PlaceGuesses> guesses_at(const Reading& reading, std::span<const GuessPlace> places,
                                     std::size_t most);

// What each token of the text did for the logit of one guessed token.
enum class Attribution : std::uint8_t {
  gradient,    // the gradient of the logit times the token's embedding: exact for small changes only
  integrated,  // the gradient along the straight line from a neutral text to this one (Sundararajan, Taly and
               // Yan 2017): the parts add up to the difference between the two logits, provided that the
               // steps of the sum are fine enough
};
std::string_view name_of(Attribution method) noexcept;

struct AttributionOptions {
  Attribution method = Attribution::integrated;
  std::int64_t steps = 32;  // of the integral
  // Every token of the neutral text: by default the model's padding, else the first of its vocabulary that
  // stands for the end of a text, else token 0.
  std::optional<std::int32_t> neutral_token{};
};

struct TokenAttributions {
  std::vector<double> tokens{};  // one for each token of the text
  double logit = 0;              // of the guessed token
  double neutral_logit = 0;      // integrated: of the neutral text
  std::int32_t neutral_token = 0;
  // integrated: how much of the difference the sum misses, as a share of it; smaller with more steps.
  double missing = 0;
};
TokenAttributions attribute_guess(const Reading& reading, std::int64_t place, std::int32_t token,
                                  const AttributionOptions& options = {});

// Activation patching (Vig et al. 2020; Meng et al. 2022): two prompts that differ in what the model should
// answer. Parts of the pass over the first are put into the pass over the second, one at a time, to see how
// far the answer of the first comes back: 0 where nothing changes, 1 where it is fully restored.
struct PatchedAnswers {
  std::int32_t answer = 0, other = 0;  // the tokens whose logits are compared, after the last token
  double clean = 0, changed = 0;       // logit(answer) - logit(other) of the first prompt and of the second
  Tensor states{};  // (layers + 1, tokens), f64: the vector of one token as it leaves a layer, from layer 0
  Tensor heads{};   // (layers, heads), f64: what one head contributes to all tokens
};
struct PatchOptions {
  bool states = true, heads = true;
  std::optional<std::int32_t> answer{}, other{};  // default: what each prompt makes most probable
  std::int64_t batch_tokens = 2048;               // changes time and memory, but not one bit of the result
};
// Throws std::invalid_argument for prompts with different numbers of tokens, read by different models, or
// with the same answer. Both readings keep everything.
PatchedAnswers patch_answers(const Reading& clean, const Reading& changed, const PatchOptions& options = {});

}  // namespace attend
