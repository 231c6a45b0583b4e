#include <attend/generation.h>

#include <attend/file_error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "model/generation_defaults.h"

namespace attend {
namespace {

constexpr const char* kGeneratorOperation = "generate";
constexpr std::int64_t kUsualTokens = 200;

TokenHead output_of(const TextModel& model) {
  const ModelDescription& description = model.transformer().description();
  if (!description.is_causal() && !description.has_source()) {
    throw FileError(model.files().config.string(), "model_type",
                    joined('"', description.model_type, "\" is an encoder, which cannot write"));
  }
  if (description.has_source() && !description.start_token)
    throw FileError(model.files().config.string(), "decoder_start_token_id", "is missing");
  const std::optional<TokenHead> head = model.token_head();
  if (!head)
    throw FileError(model.files().weights.string(), "", "has no output layer, so the model cannot write");
  return head->for_writing();
}

double log_probability_of(const Tensor& logits, std::int32_t id) {
  const std::span<const float> values = logits.values<float>();
  const auto largest = static_cast<double>(*std::max_element(values.begin(), values.end()));
  double sum = 0;
  for (const float value : values) sum += std::exp(static_cast<double>(value) - largest);
  return static_cast<double>(values[static_cast<std::size_t>(id)]) - largest - std::log(sum);
}

// The longest end of a text that a stop text begins with: it may yet become one.
std::size_t open_end(std::string_view text, const std::vector<std::string>& stops) {
  std::size_t longest = 0;
  for (const std::string& stop : stops) {
    for (std::size_t size = std::min(text.size(), stop.empty() ? 0 : stop.size() - 1); size > longest;
         --size) {
      if (text.ends_with(std::string_view(stop).substr(0, size))) longest = size;
    }
  }
  return longest;
}

bool is_one_of(const std::vector<std::int32_t>& ids, std::int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// What is written so far, and whether it ends here.
class Writing {
 public:
  Writing(const Tokenizer& tokenizer, const GenerateOptions& options, const std::vector<std::int32_t>& ends)
      : decoder_(tokenizer), options_(options), ends_(ends) {}

  bool goes_on(GeneratedToken token) {
    if (is_one_of(options_.stop_tokens, token.id)) return end(StopReason::stop);
    if (!options_.ignore_end && is_one_of(ends_, token.id)) return end(StopReason::end);
    written_.push_back(token.id);
    const bool stopped = add_text(decoder_.add(token.id));
    const std::size_t certain =
        stopped ? result.text.size() : result.text.size() - open_end(result.text, options_.stop);
    if (certain > told_) token.text = result.text.substr(told_, certain - told_);
    told_ = std::max(told_, certain);
    result.tokens.push_back(std::move(token));
    if (options_.on_token && !options_.on_token(result.tokens.back())) {
      if (!stopped) return end(StopReason::callback);
    }
    return stopped ? end(StopReason::stop) : true;
  }
  bool end(StopReason reason) {
    result.reason = reason;
    return false;
  }
  Generated finished() && {
    if (!cut_ && add_text(decoder_.finish())) end(StopReason::stop);
    return std::move(result);
  }
  std::span<const std::int32_t> written() const { return written_; }

  Generated result;

 private:
  // Whether a stop text is there now, before which the text is cut.
  bool add_text(const std::string& piece) {
    std::size_t longest = 0;
    for (const std::string& stop : options_.stop) longest = std::max(longest, stop.size());
    const std::size_t from = result.text.size() - std::min(result.text.size(), longest);
    result.text += piece;
    std::size_t first = std::string::npos;
    for (const std::string& stop : options_.stop) {
      if (!stop.empty()) first = std::min(first, result.text.find(stop, from));
    }
    if (first == std::string::npos) return false;
    result.text.resize(first);
    return cut_ = true;
  }

  StreamingDecoder decoder_;
  const GenerateOptions& options_;
  const std::vector<std::int32_t>& ends_;
  std::vector<std::int32_t> written_;
  std::size_t told_ = 0;  // bytes of the text that on_token was given
  bool cut_ = false;
};

}  // namespace

std::string_view name_of(StopReason reason) noexcept {
  constexpr std::string_view kNames[] = {"length", "stop", "callback", "end", "context"};
  return kNames[static_cast<std::size_t>(reason)];
}

Generator::Generator(const TextModel& model, CacheType cache)
    : model_(model),
      output_(output_of(model)),
      cache_(model.transformer().description(), cache),
      defaults_(model::read_generation_defaults(model)) {
  model_.require_intact();
}

void Generator::clear() {
  cache_.clear();
  read_.clear();
}

void Generator::read_source(std::span<const std::int32_t> ids) {
  read_.clear();
  model_.transformer().read_source(ids, cache_);
}

Tensor Generator::read(std::span<const std::int32_t> ids) {
  const std::int64_t before = cache_.length();
  const Tensor hidden = model_.transformer().read(ids, cache_);
  Tensor logits;
  try {
    logits = output_.next_logits(hidden.view().slice(0, hidden.size(0) - 1, hidden.size(0)));
  } catch (...) {  // an interruption: the tokens are not read
    cache_.truncate(before);
    throw;
  }
  read_.insert(read_.end(), ids.begin(), ids.end());
  return copy_of(logits.view().select(0, 0));
}

// What the options leave open is as the model says.
GenerateOptions Generator::resolved(const GenerateOptions& options, std::int64_t prompt_tokens) const {
  GenerateOptions all = options;
  const Sampling& usual = defaults_.sampling;
  Sampling& sampling = all.sampling;
  if (!sampling.temperature) sampling.temperature = usual.temperature;
  if (!sampling.top_k) sampling.top_k = usual.top_k;
  if (!sampling.top_p) sampling.top_p = usual.top_p;
  if (!sampling.min_p) sampling.min_p = usual.min_p;
  if (!sampling.repetition_penalty) sampling.repetition_penalty = usual.repetition_penalty;
  const bool counts_source = model_.transformer().description().has_source() && defaults_.end_tokens.empty();
  if (!all.max_tokens)
    all.max_tokens = defaults_.max_tokens.value_or(counts_source ? prompt_tokens : kUsualTokens);
  if (*all.max_tokens < 0)
    refuse(kGeneratorOperation, "max_tokens is ", *all.max_tokens, ", expected at least 0");
  return all;
}

// One generation: what is to be read next, and where positions run out.
class Generator::Run {
 public:
  Run(Generator& generator, const GenerateOptions& options, std::vector<std::int32_t> prompt)
      : generator_(generator),
        options_(generator.resolved(options, std::ssize(prompt))),
        prompt_(std::move(prompt)),
        most_(generator.model_.transformer().description().max_tokens()),
        writing_(generator.model_.tokenizer(), options_, generator.defaults_.end_tokens) {}

  Generated text() {
    const ModelDescription& description = generator_.model_.transformer().description();
    std::vector<std::int32_t> next = prompt_;
    if (description.has_source()) {
      generator_.read_source(prompt_);
      next.assign(1, *description.start_token);
    } else if (std::ssize(next) > most_) {
      writing_.result.dropped = std::ssize(next) - most_;
      next.erase(next.begin(), next.end() - most_);
    }
    writing_.result.prompt_tokens = std::ssize(prompt_) - writing_.result.dropped;
    generator_.clear();
    return written(next, next, true);
  }

  Generated answer() {
    if (std::ssize(prompt_) >= most_) {
      refuse(kGeneratorOperation, "the conversation has ", prompt_.size(), " tokens, and the model can read ",
             most_, " with its answer");
    }
    std::vector<std::int32_t>& read = generator_.read_;
    const auto [known, unused] = std::mismatch(read.begin(), read.end(), prompt_.begin(), prompt_.end() - 1);
    const std::ptrdiff_t same = known - read.begin();
    read.resize(static_cast<std::size_t>(same));
    generator_.cache_.truncate(same);
    writing_.result.prompt_tokens = std::ssize(prompt_);
    writing_.result.reused = same;
    return written({prompt_.begin() + same, prompt_.end()}, prompt_, false);
  }

 private:
  // all: what is read when next is, from the beginning.
  Generated written(std::vector<std::int32_t> next, std::vector<std::int32_t> all,
                    bool goes_on_without_room) {
    for (std::int64_t i = 0; i < *options_.max_tokens; ++i) {
      interruption_point();
      if (generator_.cache_.length() + std::ssize(next) > most_) {
        if (!goes_on_without_room) {
          writing_.end(StopReason::context);
          break;
        }
        generator_.clear();
        const std::int64_t kept = std::min(std::max<std::int64_t>(1, most_ / 2), std::ssize(all));
        next.assign(all.end() - kept, all.end());
        ++writing_.result.rereads;
      }
      read_again_if_rotated(all, next);
      const Tensor logits = generator_.read(next);
      GeneratedToken token{.id = sample(logits, options_.sampling, static_cast<std::uint64_t>(i),
                                        {.prompt = prompt_, .written = writing_.written()}),
                           .log_probability = std::numeric_limits<double>::quiet_NaN()};
      if (options_.log_probabilities) token.log_probability = log_probability_of(logits, token.id);
      next.assign(1, token.id);
      all.push_back(token.id);
      if (!writing_.goes_on(std::move(token))) break;
    }
    generator_.model_.require_intact();
    return std::move(writing_).finished();
  }

  // Keys in the cache may have been rotated for a shorter text: Rotary::long_text.
  void read_again_if_rotated(const std::vector<std::int32_t>& all, std::vector<std::int32_t>& next) {
    const std::int64_t before = generator_.cache_.length(), after = before + std::ssize(next);
    if (before == 0 || !generator_.model_.transformer().description().rotation_changes(before, after)) return;
    next.assign(all.end() - after, all.end());
    generator_.clear();
  }

  Generator& generator_;
  const GenerateOptions options_;
  const std::vector<std::int32_t> prompt_;
  const std::int64_t most_;
  Writing writing_;
};

Generated Generator::generate(std::string_view prompt, const GenerateOptions& options) {
  std::vector<std::int32_t> ids = model_.tokenizer().encode(prompt, {.truncate = false}).ids;
  if (ids.empty() && defaults_.begin_token) ids.push_back(*defaults_.begin_token);
  return generate(ids, options);
}

Generated Generator::generate(std::span<const std::int32_t> prompt, const GenerateOptions& options) {
  if (prompt.empty()) {
    refuse(kGeneratorOperation,
           "the prompt is empty, and the model has no token that begins a text, so there is nothing to "
           "continue");
  }
  return Run(*this, options, {prompt.begin(), prompt.end()}).text();
}

std::vector<Generated> Generator::generate(std::span<const std::string> prompts,
                                           const GenerateOptions& options) {
  std::vector<Generated> all;
  for (const std::string& prompt : prompts) all.push_back(generate(prompt, options));
  return all;
}

Generated Generator::chat(std::span<const ChatMessage> messages, const GenerateOptions& options) {
  return Run(*this, options, chat_prompt(messages)).answer();
}

}  // namespace attend
