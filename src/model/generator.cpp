#include <attend/generation.h>

#include <attend/file_error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/interrupt.h"
#include "model/softcap.h"

namespace attend {
namespace {

constexpr const char* kGeneratorOperation = "generate";
constexpr std::int64_t kUsualTokens = 200;

PackedMatrix output_of(const TextModel& model) {
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
  return head->packed();
}

double log_probability_of(const Tensor& logits, std::int32_t id) {
  const std::span<const float> values = logits.values<float>();
  const auto largest = static_cast<double>(*std::max_element(values.begin(), values.end()));
  double sum = 0;
  for (const float value : values) sum += std::exp(static_cast<double>(value) - largest);
  return static_cast<double>(values[static_cast<std::size_t>(id)]) - largest - std::log(sum);
}

// What is written so far, and whether it ends here.
class Writing {
 public:
  Writing(const Tokenizer& tokenizer, const GenerateOptions& options)
      : tokenizer_(tokenizer), options_(options) {}

  bool goes_on(const GeneratedToken& token) {
    const std::vector<std::int32_t>& stops = options_.stop_tokens;
    if (std::find(stops.begin(), stops.end(), token.id) != stops.end()) return end(StopReason::stop);
    result_.tokens.push_back(token);
    if (stops_at_text()) return end(StopReason::stop);
    if (options_.on_token && !options_.on_token(token)) return end(StopReason::callback);
    return true;
  }

  Generated result() && {
    if (!cut_) result_.text = text();
    return std::move(result_);
  }

 private:
  bool end(StopReason reason) {
    result_.reason = reason;
    return false;
  }
  std::string text() const {
    std::vector<std::int32_t> ids;
    for (const GeneratedToken& token : result_.tokens) ids.push_back(token.id);
    return tokenizer_.decode(ids);
  }
  bool stops_at_text() {
    if (options_.stop.empty()) return false;
    const std::string so_far = text();
    std::size_t first = std::string::npos;
    for (const std::string& stop : options_.stop) {
      if (!stop.empty()) first = std::min(first, so_far.find(stop));
    }
    if (first == std::string::npos) return false;
    result_.text = so_far.substr(0, first);
    cut_ = true;
    return true;
  }

  const Tokenizer& tokenizer_;
  const GenerateOptions& options_;
  Generated result_;
  bool cut_ = false;
};

}  // namespace

std::string_view name_of(StopReason reason) noexcept {
  constexpr std::string_view kNames[] = {"length", "stop", "callback"};
  return kNames[static_cast<std::size_t>(reason)];
}

Generator::Generator(const TextModel& model)
    : model_(model), output_(output_of(model)), cache_(model.transformer().description()) {
  model_.require_intact();
}

void Generator::read_source(std::span<const std::int32_t> ids) {
  model_.transformer().read_source(ids, cache_);
}

Tensor Generator::read(std::span<const std::int32_t> ids) {
  const std::int64_t before = cache_.length();
  const Tensor hidden = model_.transformer().read(ids, cache_);
  Tensor logits(DType::f32, {1, output_.columns()});
  try {
    matmul(hidden.view().slice(0, hidden.size(0) - 1, hidden.size(0)), output_, logits);
  } catch (...) {  // an interruption: the tokens are not read
    cache_.truncate(before);
    throw;
  }
  const ModelDescription& description = model_.transformer().description();
  if (description.output_scale != 1) {
    const auto scale = static_cast<float>(description.output_scale);
    for (float& logit : logits.values<float>()) logit *= scale;
  }
  model::softcap(logits.values<float>(), description.output_softcap);
  return copy_of(logits.view().select(0, 0));
}

Generated Generator::generate(std::string_view prompt, const GenerateOptions& options) {
  // A source is a text by itself, and ends as those of its training did; a text to go on with does not end.
  const bool source = model_.transformer().description().has_source();
  return generate(model_.tokenizer().encode(prompt, {.add_special_tokens = source, .truncate = false}).ids,
                  options);
}

Generated Generator::generate(std::span<const std::int32_t> prompt, const GenerateOptions& options) {
  if (prompt.empty()) refuse(kGeneratorOperation, "the prompt is empty; a model needs a token to go on from");
  const ModelDescription& description = model_.transformer().description();
  const bool answers = description.has_source();
  const std::int64_t count = options.max_tokens.value_or(answers ? std::ssize(prompt) : kUsualTokens);
  if (count < 0) refuse(kGeneratorOperation, "max_tokens is ", count, ", expected a number from 0");
  Sampling sampling = options.sampling;
  if (!sampling.temperature) sampling.temperature = answers ? 0 : 0.8;

  std::vector<std::int32_t> all(prompt.begin(), prompt.end());
  if (answers) {
    read_source(prompt);
    all.assign(1, *description.start_token);
  }
  const auto most = static_cast<std::size_t>(description.max_tokens());
  const auto last_tokens = [&](std::size_t wanted) {
    return std::vector<std::int32_t>(all.end() - static_cast<std::ptrdiff_t>(std::min(wanted, all.size())),
                                     all.end());
  };
  std::vector<std::int32_t> next = last_tokens(most);
  clear();
  Writing writing(model_.tokenizer(), options);
  for (std::int64_t i = 0; i < count; ++i) {
    interruption_point();
    if (cache_.length() + std::ssize(next) > description.max_tokens()) {
      clear();
      next = last_tokens(std::max<std::size_t>(1, most / 2));
    }
    if (cache_.length() > 0 &&
        description.rotation_changes(cache_.length(), cache_.length() + std::ssize(next))) {
      next = last_tokens(static_cast<std::size_t>(cache_.length()) + next.size());
      clear();
    }
    const Tensor logits = read(next);
    GeneratedToken token{.id = sample(logits, sampling, static_cast<std::uint64_t>(i)),
                         .log_probability = std::numeric_limits<double>::quiet_NaN()};
    if (options.log_probabilities) token.log_probability = log_probability_of(logits, token.id);
    if (!writing.goes_on(token)) break;
    all.push_back(token.id);
    next.assign(1, token.id);
  }
  model_.require_intact();
  return std::move(writing).result();
}

}  // namespace attend
