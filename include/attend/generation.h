// Text that a model writes: token after token, each drawn from what the model expects after those before it.
//
//   Generator generator(TextModel::load("gpt2"));
//   std::cout << generator.generate("The animal", {.max_tokens = 20}).text;
#pragma once

#include <attend/text_model.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

struct Sampling {
  // Higher is wilder; 0: always the most probable. Default: 0.8, and 0 for a model that answers a source.
  std::optional<double> temperature{};
  std::int64_t top_k = 40;  // draw from the k most probable tokens; 0: from all
  std::uint64_t seed = 1;
};

// Draws an id from logits (vocabulary), f32, with random number `number` of the seed's stream. Of equally
// probable tokens the one with the smaller id comes first. Throws std::invalid_argument for logits that are
// not numbers.
std::int32_t sample(ConstTensorView logits, const Sampling& sampling, std::uint64_t number);

struct GeneratedToken {
  std::int32_t id = 0;
  // In the model's own distribution, at temperature 1 and before top_k. NaN unless it is asked for.
  double log_probability = 0;
};

struct GenerateOptions {
  std::optional<std::int64_t> max_tokens{};  // default: 200, or as many as the source has
  Sampling sampling{};
  std::vector<std::int32_t> stop_tokens{};  // writing ends at the first of them, which is left out
  std::vector<std::string> stop{};          // likewise for texts
  bool log_probabilities = false;
  std::function<bool(const GeneratedToken& token)> on_token{};  // called after each; false: stop here
};

enum class StopReason : std::uint8_t { length, stop, callback };
std::string_view name_of(StopReason reason) noexcept;  // "length", ...

struct Generated {
  std::vector<GeneratedToken> tokens{};
  std::string text{};  // without the prompt
  StopReason reason = StopReason::length;
};

class Generator {
 public:
  // Throws FileError for a model that does not write.
  explicit Generator(const TextModel& model);

  const TextModel& model() const noexcept { return model_; }

  // What follows a prompt; for a model with an encoder and a decoder, its answer. A prompt that is longer
  // than the model can read is cut at its start. When positions run out, the second half of the tokens so far
  // is read again from the first position on; where a model rotates longer texts differently
  // (Rotary::long_text), all of them are read again. The same prompt, options and seed give the same text on
  // any number of threads.
  Generated generate(std::string_view prompt, const GenerateOptions& options = {});
  Generated generate(std::span<const std::int32_t> prompt, const GenerateOptions& options = {});

  // The same in single steps: reads tokens after those read so far, and returns the logits of what follows
  // the last, (vocabulary), f32.
  Tensor read(std::span<const std::int32_t> ids);
  // For a model with an encoder and a decoder: the source to answer. Forgets the tokens so far.
  void read_source(std::span<const std::int32_t> ids);
  void clear() { cache_.clear(); }  // all tokens; not the source
  const TransformerCache& cache() const noexcept { return cache_; }

 private:
  TextModel model_;
  PackedMatrix output_;  // (E, vocabulary)
  TransformerCache cache_;
};

}  // namespace attend
