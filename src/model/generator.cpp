#include <attend/generation.h>

#include <attend/file_error.h>
#include <attend/generator_batch.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "model/generation_defaults.h"
#include "model/text_in_progress.h"

namespace attend {
namespace {

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

}  // namespace

std::string_view name_of(StopReason reason) noexcept {
  constexpr std::string_view kNames[] = {"length", "stop", "callback", "end", "context"};
  return kNames[static_cast<std::size_t>(reason)];
}

Generator::Generator(const TextModel& model, CacheType cache)
    : model_(model),
      output_(output_of(model)),
      cache_type_(cache),
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

struct Generator::Run {
  static Generated write(Generator& generator, model::TextInProgress& text) {
    while (const std::optional<model::NextRead> next = text.next(generator.cache_.length())) {
      interruption_point();
      if (next->from_start) generator.clear();
      text.take(text.draw(generator.read(next->ids)));
    }
    generator.model_.require_intact();
    return std::move(text).finished();
  }
};

std::vector<std::int32_t> Generator::prompt_of(std::string_view text) const {
  std::vector<std::int32_t> ids = model_.tokenizer().encode(text, {.truncate = false}).ids;
  if (ids.empty() && defaults_.begin_token) ids.push_back(*defaults_.begin_token);
  return ids;
}

Generated Generator::generate(std::string_view prompt, const GenerateOptions& options) {
  return generate(prompt_of(prompt), options);
}

Generated Generator::generate(std::span<const std::int32_t> prompt, const GenerateOptions& options) {
  model::require_prompt(prompt);
  model::TextInProgress text(model_, defaults_, options, {prompt.begin(), prompt.end()});
  if (model_.transformer().description().has_source()) read_source(prompt);
  clear();
  return Run::write(*this, text);
}

std::vector<Generated> Generator::generate(std::span<const std::string> prompts,
                                           const GenerateOptions& options) {
  std::vector<Generated> all;
  std::vector<std::vector<std::int32_t>> ids;
  for (const std::string& prompt : prompts)
    options.on_token ? all.push_back(generate(prompt, options)) : ids.push_back(prompt_of(prompt));
  return options.on_token ? all : generate_together(*this, ids, options);
}

Generated Generator::chat(std::span<const ChatMessage> messages, const GenerateOptions& options) {
  const std::vector<std::int32_t> prompt = chat_prompt(messages);
  model::TextInProgress text(model_, defaults_, options, prompt, model::WithoutRoom::end);
  const auto [known, unused] = std::mismatch(read_.begin(), read_.end(), prompt.begin(), prompt.end() - 1);
  const std::ptrdiff_t same = known - read_.begin();
  read_.resize(static_cast<std::size_t>(same));
  cache_.truncate(same);
  text.reuse(same);
  return Run::write(*this, text);
}

}  // namespace attend
