#include "serve/tokens_of.h"

#include <algorithm>

#include "io/fail.h"
#include "serve/refused.h"

namespace attend::serve {
namespace {

[[noreturn]] void refuse_length(std::int64_t count, std::int64_t most) {
  refuse_with(Fault::too_long, "a text has ", count, " tokens, and the model reads at most ", most);
}

// Leaves out tokens [first, first + count).
void leave_out(Encoding& tokens, std::size_t first, std::size_t count) {
  const auto from = [&](auto& list) {
    const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
    list.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  from(tokens.ids);
  from(tokens.type_ids);
  from(tokens.offsets);
  from(tokens.words);
  from(tokens.special);
  tokens.dropped += static_cast<std::int64_t>(count);
}

// The last tokens of a text, with the special ones around them.
Encoding end_of(const TextModel& model, const std::string& text) {
  Encoding tokens =
      model.tokenizer().encode(text, {.truncate = false, .lower_case = model.files().lower_case});
  const auto most = static_cast<std::size_t>(model.max_tokens());
  if (tokens.size() <= most) return tokens;
  const auto text_begin = std::ranges::find(tokens.special, std::uint8_t{0}) - tokens.special.begin();
  leave_out(tokens, static_cast<std::size_t>(text_begin), tokens.size() - most);
  return tokens;
}

Encoding tokens_of_ids(const TextModel& model, std::vector<std::int32_t> ids, const InputOptions& options) {
  const std::int64_t vocabulary = model.transformer().description().vocabulary_size;
  for (const std::int32_t id : ids)
    if (id < 0 || id >= vocabulary)
      refuse_with(Fault::invalid, "token id ", id, " is not one of the model's ", vocabulary,
                  "; send the text itself, or ids of the model's own tokenizer");
  const auto count = static_cast<std::int64_t>(ids.size()), most = model.max_tokens();
  if (count > most && !options.truncate) refuse_length(count, most);
  Encoding tokens;
  tokens.ids = std::move(ids);
  tokens.type_ids.resize(tokens.size());
  tokens.offsets.resize(tokens.size());
  tokens.words.resize(tokens.size(), -1);
  tokens.special.resize(tokens.size());
  if (count > most)
    leave_out(tokens, options.cut_left ? 0 : static_cast<std::size_t>(most),
              static_cast<std::size_t>(count - most));
  return tokens;
}

Encoding tokens_of_text(const TextModel& model, const std::string& text, const InputOptions& options) {
  if (options.truncate && options.cut_left) return end_of(model, text);
  Encoding tokens = model.encode(text);
  if (tokens.dropped > 0 && !options.truncate)
    refuse_length(static_cast<std::int64_t>(tokens.size()) + tokens.dropped, model.max_tokens());
  return tokens;
}

}  // namespace

std::string prompt_of(const TextModel& model, const std::optional<std::string>& name) {
  if (!name) return model.prompt_of({});
  const auto& prompts = model.files().prompts;
  if (const auto found = prompts.find(*name); found != prompts.end()) return found->second;
  refuse_with(Fault::invalid, "the model has no prompt ", io::quoted(*name));
}

Encoding tokens_of(const TextModel& model, const Input& input, const InputOptions& options) {
  const auto* const text = std::get_if<std::string>(&input);
  Encoding tokens = text != nullptr
                        ? tokens_of_text(model, prompt_of(model, options.prompt_name) + *text, options)
                        : tokens_of_ids(model, std::get<std::vector<std::int32_t>>(input), options);
  if (tokens.size() == 0) refuse_with(Fault::empty, "a text has no tokens");
  return tokens;
}

Encoding tokens_of(const TextModel& model, const TextPair& text, const InputOptions& options) {
  if (!text.second) return tokens_of(model, Input(std::string(text.first)), options);
  Encoding tokens = model.encode(prompt_of(model, options.prompt_name).append(text.first), *text.second);
  if (tokens.dropped > 0 && !options.truncate)
    refuse_length(static_cast<std::int64_t>(tokens.size()) + tokens.dropped, model.max_tokens());
  if (tokens.dropped > 0 && options.cut_left)
    throw Refused(Fault::too_long, "a pair of texts that is too long is cut only at its end",
                  "truncation_direction");
  if (tokens.size() == 0) refuse_with(Fault::empty, "a text has no tokens");
  return tokens;
}

}  // namespace attend::serve
