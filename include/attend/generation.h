// Text that a model writes: token after token, each drawn from what the model expects after those before it.
//
//   Generator generator(TextModel::load("gpt2"));
//   std::cout << generator.generate("The animal", {.max_tokens = 20}).text;
#pragma once

#include <attend/chat_template.h>
#include <attend/text_model.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// How tokens are drawn. What is not given is as the model's folder says (GenerationDefaults). The order is
// that of transformers: penalties, temperature, top_k, top_p, min_p.
struct Sampling {
  std::optional<double> temperature{};  // higher is wilder; 0: always the most probable
  std::optional<std::int64_t>
      top_k{};                    // draw from the k most probable tokens, and those equal to the last; 0: all
  std::optional<double> top_p{};  // from the fewest most probable tokens that have this probability together
  std::optional<double> min_p{};  // from those that have this share of the largest probability
  // Logits of tokens that are there already, the prompt's included, are divided by this, or multiplied where
  // they are negative; 1 changes nothing.
  std::optional<double> repetition_penalty{};
  // Taken off the logits of tokens that were written before: for each time, and once. 0 changes nothing.
  double frequency_penalty = 0, presence_penalty = 0;
  std::uint64_t seed = 1;
};

// The tokens before the one to draw, for penalties.
struct TokensBefore {
  std::span<const std::int32_t> prompt{}, written{};
};

struct TokenProbability {
  std::int32_t id = 0;
  double probability = 0;
};

// What a token is drawn from: the tokens that are left, most probable first and of equals the smaller id
// first, with probabilities that add up to 1. logits (vocabulary), f32. Throws std::invalid_argument for
// logits that are not numbers and for settings outside their range.
std::vector<TokenProbability> sampling_distribution(ConstTensorView logits, const Sampling& sampling,
                                                    const TokensBefore& before = {});

// One of them: number `number` of the stream of the seed decides. Where sampling does not say: temperature
// 0.8, top_k 40.
std::int32_t sample(ConstTensorView logits, const Sampling& sampling, std::uint64_t number,
                    const TokensBefore& before = {});

// What a model's folder says about writing: generation_config.json, else config.json and
// tokenizer_config.json for the end tokens.
struct GenerationDefaults {
  Sampling sampling{};  // complete, but for penalties that are not asked for
  std::optional<std::int64_t> max_tokens{};
  std::vector<std::int32_t> end_tokens{};  // the model ends with one of these
  std::optional<std::int32_t> begin_token{};
  std::string begin_text{}, end_text{};  // of these tokens, for chat templates
  std::vector<std::string> left_out{};   // keys of generation_config.json that ask for what is not there
};

struct TokenLogProbability {
  std::int32_t id = 0;
  double log_probability = 0;
};

struct GeneratedToken {
  std::int32_t id = 0;
  // Of the model's own distribution: that of temperature 1, before everything else. NaN unless it is asked
  // for.
  double log_probability = 0;
  // Of the same distribution, the most probable tokens, as many as were asked for: of equals the smaller id
  // first.
  std::vector<TokenLogProbability> most_probable{};
  // The part of Generated::text that became certain with this token: whole characters, and nothing that may
  // yet be part of a stop text. What is still open at the end is only in Generated::text.
  std::string text{};
};

struct GenerateOptions {
  // Default: the model's, else 200, or as many as the source has for a model with a source and no end token.
  std::optional<std::int64_t> max_tokens{};
  Sampling sampling{};
  std::vector<std::int32_t> stop_tokens{};  // it ends with the first of them, which is left out
  std::vector<std::string> stop{};          // likewise, of texts
  bool ignore_end = false;                  // goes on after the model's end tokens
  bool log_probabilities = false;
  std::int64_t most_probable = 0;                               // how many of GeneratedToken::most_probable
  std::function<bool(const GeneratedToken& token)> on_token{};  // after each; false: it ends here
};

// length: max_tokens; stop: a text or token that was given; end: one of the model's end tokens; callback:
// on_token said so; context: no position is left, in a conversation.
enum class StopReason : std::uint8_t { length, stop, callback, end, context };
std::string_view name_of(StopReason reason) noexcept;  // "length", ...

struct Generated {
  std::vector<GeneratedToken> tokens{};
  std::string text{};  // without the prompt
  StopReason reason = StopReason::length;
  std::int64_t prompt_tokens = 0;  // that were read
  std::int64_t dropped = 0;        // from the start of a prompt that was longer than the model can read
  std::int64_t reused = 0;         // of prompt_tokens, those that a conversation had read before
  std::int64_t rereads = 0;        // how often positions ran out and the second half was read again
};

class Generator {
 public:
  // Throws FileError for a model that does not write.
  explicit Generator(const TextModel& model, CacheType cache = CacheType::f32);

  const TextModel& model() const noexcept { return model_; }
  const GenerationDefaults& defaults() const noexcept { return defaults_; }

  // What follows a prompt; of a model with an encoder and a decoder, what it answers to one. A prompt that is
  // longer than the model can read is cut at its start. Where positions run out while it writes, the second
  // half of what is there is read again from the start. Both are said in the result. An empty prompt is the
  // model's begin token, where it has one. The same prompt, options and seed give the same text on any number
  // of threads and after anything else that was generated.
  Generated generate(std::string_view prompt, const GenerateOptions& options = {});
  Generated generate(std::span<const std::int32_t> prompt, const GenerateOptions& options = {});
  // The tokens of a text as a prompt.
  std::vector<std::int32_t> prompt_of(std::string_view text) const;
  // Several; each has the bits that it has alone. They are written together (generator_batch.h), or, with
  // on_token, one after the other.
  std::vector<Generated> generate(std::span<const std::string> prompts, const GenerateOptions& options = {});

  // The model's own template. FileError where the model has none, and where it uses what attend does not
  // have.
  const ChatTemplate& chat_template();
  // The tokens of a conversation, up to where the model's answer begins. Special tokens come from the
  // template alone, never from a message.
  std::vector<std::int32_t> chat_prompt(std::span<const ChatMessage> messages);
  // The model's answer to a conversation. Keys and values of the tokens that it has in common with what was
  // read last are kept. Ends with `context` where positions run out, and refuses a conversation without room
  // for an answer.
  Generated chat(std::span<const ChatMessage> messages, const GenerateOptions& options = {});

  // The same by single steps: reads tokens after those that were read before; the logits of what follows the
  // last, (vocabulary), f32.
  Tensor read(std::span<const std::int32_t> ids);
  // For a model with an encoder and a decoder: what is answered. Forgets the tokens so far.
  void read_source(std::span<const std::int32_t> ids);
  void clear();  // all tokens; not the source
  const TransformerCache& cache() const noexcept { return cache_; }

 private:
  friend class GeneratorBatch;
  struct Run;  // one generation

  TextModel model_;
  TokenHead output_;
  CacheType cache_type_;
  TransformerCache cache_;
  GenerationDefaults defaults_;
  std::optional<ChatTemplate> template_{};
  std::vector<std::int32_t> read_{};  // the tokens that the cache holds
};

}  // namespace attend
