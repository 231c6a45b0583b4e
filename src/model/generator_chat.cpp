// From a conversation to tokens, by the model's own template.
#include <attend/file_error.h>
#include <attend/generation.h>

#include "base/error.h"
#include "model/generation_defaults.h"

namespace attend {

const ChatTemplate& Generator::chat_template() {
  if (!template_) {
    if (model_.transformer().description().has_source()) {
      throw FileError(model_.files().config.string(), "model_type",
                      "has an encoder and a decoder, which answer a text and not a conversation");
    }
    const std::optional<model::TemplateSource> source = model::read_chat_template(model_.files());
    if (!source) {
      throw FileError(model_.files().name, "",
                      "has no chat template, so the model cannot hold a conversation");
    }
    template_ = ChatTemplate::parse(source->text, source->file);
  }
  return *template_;
}

std::vector<std::int32_t> Generator::chat_prompt(std::span<const ChatMessage> messages) {
  const RenderedChat chat =
      chat_template().render(messages, {.bos_token = defaults_.begin_text, .eos_token = defaults_.end_text});
  std::vector<std::int32_t> ids =
      model_.tokenizer()
          .encode(chat.text, {.add_special_tokens = false, .truncate = false, .plain = chat.given})
          .ids;
  if (ids.empty()) refuse("generate", "the chat template makes no text of these messages");
  return ids;
}

}  // namespace attend
