#include "model/text_in_progress.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace attend::model {
namespace {

constexpr const char* kWritingOperation = "generate";
constexpr std::int64_t kUsualTokens = 200;

// What is subtracted from a logit, so that the probabilities add up to 1.
double log_sum_of(std::span<const float> logits) {
  const auto largest = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0;
  for (const float value : logits) sum += std::exp(static_cast<double>(value) - largest);
  return largest + std::log(sum);
}

std::vector<TokenLogProbability> most_probable(std::span<const float> logits, double log_sum,
                                               std::int64_t count) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; };
  const auto end = order.begin() + std::min(count, std::ssize(order));
  std::partial_sort(order.begin(), end, order.end(), [&](std::int32_t a, std::int32_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  });
  std::vector<TokenLogProbability> list;
  for (auto id = order.begin(); id != end; ++id)
    list.push_back({*id, static_cast<double>(logit(*id)) - log_sum});
  return list;
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

// What the options leave open is as the model says.
GenerateOptions resolved(const GenerateOptions& options, const ModelDescription& description,
                         const GenerationDefaults& defaults, std::int64_t prompt_tokens) {
  GenerateOptions all = options;
  const Sampling& usual = defaults.sampling;
  Sampling& sampling = all.sampling;
  if (!sampling.temperature) sampling.temperature = usual.temperature;
  if (!sampling.top_k) sampling.top_k = usual.top_k;
  if (!sampling.top_p) sampling.top_p = usual.top_p;
  if (!sampling.min_p) sampling.min_p = usual.min_p;
  if (!sampling.repetition_penalty) sampling.repetition_penalty = usual.repetition_penalty;
  const bool counts_source = description.has_source() && defaults.end_tokens.empty();
  if (!all.max_tokens)
    all.max_tokens = defaults.max_tokens.value_or(counts_source ? prompt_tokens : kUsualTokens);
  if (*all.max_tokens < 0)
    refuse(kWritingOperation, "max_tokens is ", *all.max_tokens, ", expected at least 0");
  return all;
}

}  // namespace

bool WrittenSoFar::goes_on(GeneratedToken token) {
  if (is_one_of(options_.stop_tokens, token.id)) return end(StopReason::stop);
  if (!options_.ignore_end && is_one_of(ends_, token.id)) return end(StopReason::end);
  ids_.push_back(token.id);
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

Generated WrittenSoFar::finished() && {
  if (!cut_ && add_text(decoder_.finish())) end(StopReason::stop);
  return std::move(result);
}

// Whether a stop text is there now, before which the text is cut.
bool WrittenSoFar::add_text(const std::string& piece) {
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

void require_prompt(std::span<const std::int32_t> prompt) {
  if (!prompt.empty()) return;
  refuse(
      kWritingOperation,
      "the prompt is empty, and the model has no token that begins a text, so there is nothing to continue");
}

TextInProgress::TextInProgress(const TextModel& model, const GenerationDefaults& defaults,
                               const GenerateOptions& options, std::vector<std::int32_t> prompt,
                               WithoutRoom without_room)
    : description_(model.transformer().description()),
      options_(resolved(options, description_, defaults, std::ssize(prompt))),
      prompt_(std::move(prompt)),
      most_(description_.max_tokens()),
      without_room_(without_room),
      written_(model.tokenizer(), options_, defaults.end_tokens) {
  if (without_room_ == WithoutRoom::end && std::ssize(prompt_) >= most_) {
    refuse(kWritingOperation, "the conversation has ", prompt_.size(), " tokens, and the model can read ",
           most_, " with its answer");
  }
  Generated& result = written_.result;
  next_ = prompt_;
  if (description_.has_source()) {
    next_.assign(1, *description_.start_token);
  } else if (std::ssize(next_) > most_) {
    result.dropped = std::ssize(next_) - most_;
    next_.erase(next_.begin(), next_.end() - most_);
  }
  result.prompt_tokens = std::ssize(prompt_) - result.dropped;
  all_ = next_;
}

void TextInProgress::reuse(std::int64_t tokens) {
  next_.erase(next_.begin(), next_.begin() + tokens);
  written_.result.reused = tokens;
}

std::optional<NextRead> TextInProgress::next(std::int64_t held) {
  if (ended_ || count_ == *options_.max_tokens) return std::nullopt;
  bool from_start = false;
  if (held + std::ssize(next_) > most_) {
    if (without_room_ == WithoutRoom::end) {
      ended_ = true;
      written_.end(StopReason::context);
      return std::nullopt;
    }
    const std::int64_t kept = std::min(std::max<std::int64_t>(1, most_ / 2), std::ssize(all_));
    next_.assign(all_.end() - kept, all_.end());
    ++written_.result.rereads;
    from_start = true;
    held = 0;
  }
  // Keys in the cache may have been rotated for a shorter text: Rotary::long_text.
  const std::int64_t after = held + std::ssize(next_);
  if (held > 0 && description_.rotation_changes(held, after)) {
    next_.assign(all_.end() - after, all_.end());
    from_start = true;
  }
  return NextRead{.ids = next_, .from_start = from_start};
}

GeneratedToken TextInProgress::draw(ConstTensorView logits) const {
  GeneratedToken token{.id = sample(logits, options_.sampling, static_cast<std::uint64_t>(count_),
                                    {.prompt = prompt_, .written = written_.ids()}),
                       .log_probability = std::numeric_limits<double>::quiet_NaN()};
  if (!options_.log_probabilities && options_.most_probable <= 0) return token;
  const std::span<const float> values(logits.data<float>(), static_cast<std::size_t>(logits.count()));
  const double log_sum = log_sum_of(values);
  if (options_.log_probabilities)
    token.log_probability = static_cast<double>(values[static_cast<std::size_t>(token.id)]) - log_sum;
  if (options_.most_probable > 0)
    token.most_probable = most_probable(values, log_sum, options_.most_probable);
  return token;
}

void TextInProgress::take(GeneratedToken token) {
  ++count_;
  next_.assign(1, token.id);
  all_.push_back(token.id);
  ended_ = !written_.goes_on(std::move(token));
}

Generated TextInProgress::finished() && { return std::move(written_).finished(); }

}  // namespace attend::model
