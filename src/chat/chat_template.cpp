#include <attend/chat_template.h>

#include "chat/lexer.h"
#include "chat/render.h"
#include "io/fail.h"
#include "io/utf8.h"

namespace attend {
namespace {

[[noreturn]] void fail_at(const std::string& name, int line, const std::string& sentence) {
  throw FileError(name, joined("line ", line), sentence);
}

}  // namespace

namespace chat {

Text render(const ChatTemplate::Parts& parts, Scope context, const std::tm& now, std::size_t limit) {
  Budget budget(limit);
  Evaluator evaluator(std::move(context), {budget, now});
  try {
    return evaluator.run(parts.body);
  } catch (const Failure& failure) {
    fail_at(parts.name, evaluator.line(), failure.what());
  }
}

}  // namespace chat

ChatTemplate ChatTemplate::parse(std::string_view source, const std::string& name) {
  if (source.size() > kMaxBytes)
    throw FileError(name, "",
                    joined("has ", source.size(), " bytes, more than the ", kMaxBytes, " of a template"));
  if (!io::is_utf8(source)) throw FileError(name, "", "is not UTF-8");
  try {
    return ChatTemplate(std::make_shared<const Parts>(Parts{name, chat::parse_template(source)}));
  } catch (const chat::SyntaxError& error) {
    fail_at(name, error.line, error.sentence);
  }
}

RenderedChat ChatTemplate::render(std::span<const ChatMessage> messages,
                                  const ChatRenderOptions& options) const {
  using chat::Text;
  using chat::Value;
  const auto from_message = [](const std::string& text) {
    return Text::from_message(io::is_utf8(text) ? text : io::repair_utf8(text));
  };
  chat::Values list;
  std::size_t given = 0;
  for (const ChatMessage& message : messages) {
    given += message.role.size() + message.content.size() + 1000;
    std::vector<std::pair<Value, Value>> fields;
    fields.emplace_back("role", from_message(message.role));
    fields.emplace_back("content", from_message(message.content));
    list.push_back(Value::dict(std::move(fields)));
  }
  chat::Scope context;
  context.emplace("messages", Value::list(std::move(list)));
  context.emplace("add_generation_prompt", options.add_generation_prompt);
  context.emplace("bos_token", std::string_view(options.bos_token));
  context.emplace("eos_token", std::string_view(options.eos_token));
  context.emplace("tools", Value());
  context.emplace("documents", Value());
  std::tm now{};
  if (options.now) {
    now = *options.now;
  } else {
    const std::time_t seconds = std::time(nullptr);
    ::localtime_r(&seconds, &now);
  }
  // A long conversation may take as much more as it has messages and bytes.
  Text text = chat::render(*parts_, std::move(context), now, chat::Budget::kUsual + 64 * given);
  RenderedChat rendered{.text = std::move(text.bytes), .given = {}};
  for (std::size_t at = 0; at < text.given.size(); ++at) {
    if (text.given[at] == 0) continue;
    if (!rendered.given.empty() && rendered.given.back().second == at) {
      ++rendered.given.back().second;
    } else {
      rendered.given.emplace_back(at, at + 1);
    }
  }
  return rendered;
}

}  // namespace attend
