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

// One of the ids of logits (vocabulary), f32: number `number` of the stream of the seed decides. Of equally
// probable tokens the one with the smaller id comes first. Throws std::invalid_argument for logits that are
// not numbers.
std::int32_t sample(ConstTensorView logits, const Sampling& sampling, std::uint64_t number);

struct GeneratedToken {
  std::int32_t id = 0;
  // Of the model's own distribution: that of temperature 1, before top_k. NaN unless it is asked for.
  double log_probability = 0;
};

struct GenerateOptions {
  std::optional<std::int64_t> max_tokens{};  // default: 200, or as many as the source has
  Sampling sampling{};
  std::vector<std::int32_t> stop_tokens{};  // it ends with the first of them, which is left out
  std::vector<std::string> stop{};          // likewise, of texts
  bool log_probabilities = false;
  std::function<bool(const GeneratedToken& token)> on_token{};  // after each; false: it ends here
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

  // What follows a prompt; of a model with an encoder and a decoder, what it answers to one. A prompt that is
  // longer than the model can read is cut at its start. Where positions run out while it writes, the second
  // half of what is there is read again from the start; so is all of it where a model rotates longer texts
  // otherwise (Rotary::long_text). The same prompt, options and seed give the same text
  // on any number of threads.
  Generated generate(std::string_view prompt, const GenerateOptions& options = {});
  Generated generate(std::span<const std::int32_t> prompt, const GenerateOptions& options = {});

  // The same by single steps: reads tokens after those that were read before; the logits of what follows the
  // last, (vocabulary), f32.
  Tensor read(std::span<const std::int32_t> ids);
  // For a model with an encoder and a decoder: what is answered. Forgets the tokens so far.
  void read_source(std::span<const std::int32_t> ids);
  void clear() { cache_.clear(); }  // all tokens; not the source
  const TransformerCache& cache() const noexcept { return cache_; }

 private:
  TextModel model_;
  PackedMatrix output_;  // (E, vocabulary)
  TransformerCache cache_;
};

}  // namespace attend
