#include "app/generate_options.h"

#include <attend/interrupt.h>

#include <cmath>

#include "app/ctrl_c.h"
#include "app/output.h"

namespace attend::app {

void add_generation_options(CLI::App& command, GenerateOptions& options) {
  Sampling& sampling = options.sampling;
  command
      .add_option("-n,--max-tokens,--tokens", options.max_tokens,
                  "Write at most this many tokens (default: the model's, else 200)")
      ->check(CLI::Range(1, 1000000))
      ->take_last()
      ->type_name("N");
  command
      .add_option(
          "--temperature", sampling.temperature,
          "Higher is more random; 0 always takes the most probable token (default: the model's, else 0.8)")
      ->take_last()
      ->type_name("T");
  command
      .add_option("--top-k,--top", sampling.top_k,
                  "Choose from the N most probable tokens; 0: from all (default: the model's, else 40)")
      ->check(CLI::Range(0, 1000000))
      ->take_last()
      ->type_name("N");
  command
      .add_option("--top-p", sampling.top_p,
                  "Choose from the most probable tokens whose probabilities add up to this")
      ->take_last()
      ->type_name("P");
  command
      .add_option("--min-p", sampling.min_p,
                  "Choose from tokens with at least this share of the largest probability")
      ->take_last()
      ->type_name("P");
  command
      .add_option("--repetition-penalty", sampling.repetition_penalty,
                  "Above 1: tokens that have already occurred become less probable")
      ->take_last()
      ->type_name("R");
  command
      .add_option("--frequency-penalty", sampling.frequency_penalty,
                  "Subtracted from a token's logit for each time it has been written")
      ->take_last()
      ->type_name("F");
  command
      .add_option("--presence-penalty", sampling.presence_penalty,
                  "Subtracted from the logit of a token that has been written")
      ->take_last()
      ->type_name("F");
  command.add_option("--seed", sampling.seed, "A different number gives a different text (default: 1)")
      ->take_last()
      ->type_name("N");
  command.add_option("--stop", options.stop, "Stop before this text; may be given several times")
      ->allow_extra_args(false)
      ->type_name("TEXT");
}

void add_cache_option(CLI::App& command, CacheType& type) {
  command
      .add_option_function<std::string>(
          "--cache-type", [&](const std::string& name) { type = *cache_type_named(name); },
          "The numbers in which keys and values are kept: f16 and bf16 take half of the memory, int8 a "
          "quarter")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "int8"}))
      ->take_last()
      ->default_str("f32")
      ->type_name("TYPE");
}

void check_generation_options(const GenerateOptions& options) {
  const Sampling& sampling = options.sampling;
  const auto share = [](const std::optional<double>& value) {
    return !value || (*value >= 0 && *value <= 1);
  };
  const auto penalty = [](double value) { return value >= -2 && value <= 2; };
  if (sampling.temperature && !(*sampling.temperature >= 0 && std::isfinite(*sampling.temperature)))
    throw UsageError("--temperature must be a number, 0 or more");
  if (!share(sampling.top_p)) throw UsageError("--top-p must be a number from 0 to 1");
  if (!share(sampling.min_p)) throw UsageError("--min-p must be a number from 0 to 1");
  if (sampling.repetition_penalty &&
      !(*sampling.repetition_penalty > 0 && std::isfinite(*sampling.repetition_penalty)))
    throw UsageError("--repetition-penalty must be a number above 0");
  if (!penalty(sampling.frequency_penalty))
    throw UsageError("--frequency-penalty must be a number from -2 to 2");
  if (!penalty(sampling.presence_penalty))
    throw UsageError("--presence-penalty must be a number from -2 to 2");
  for (const std::string& stop : options.stop) {
    if (stop.empty()) throw UsageError("--stop is empty, and an empty text is found everywhere");
  }
}

void warn_of_left_out(const Generator& generator) {
  std::string keys;
  for (const std::string& key : generator.defaults().left_out)
    keys.append(keys.empty() ? "" : ", ").append(key);
  if (!keys.empty())
    say("generation_config.json sets " + keys + ", which attend does not support and ignores.");
}

Generated write_while_generating(GenerateOptions options, bool shows,
                                 const std::function<Generated(const GenerateOptions&)>& generate) {
  const StopOnCtrlC stop;
  std::size_t written = 0, tokens = 0;
  options.on_token = [&](const GeneratedToken& token) {
    ++tokens;
    if (shows) write_output(token.text);
    written += token.text.size();
    return !interrupted;
  };
  // Before the first token a long prompt may be read; later on, what is there must not be lost.
  const Interruptible interruptible([&] {
    if (interrupted && tokens == 0) throw Interrupted{};
  });
  Generated result = generate(options);
  if (shows) write_output(std::string_view(result.text).substr(std::min(written, result.text.size())));
  return result;
}

}  // namespace attend::app
