#include "serve/writing_bodies.h"

#include "serve/body_fields.h"

namespace attend::serve {
namespace {

constexpr double kHottest = 2, kHighestPenalty = 2;  // OpenAI's

void refuse_unless_off(const BodyFields& fields, const char* name) {
  const auto value = fields.find(name);
  const bool off = !value || (value->kind() == io::JsonKind::boolean && !value->boolean());
  if (!off) throw Refused(Fault::invalid, joined('"', name, "\" is not supported"), name);
}

WritingBody writing_of(const BodyFields& fields) {
  WritingBody body{.model = fields.text("model"),
                   .choices = fields.integer("n", 1, kMostChoices).value_or(1),
                   .stream = fields.flag("stream", false)};
  Sampling& sampling = body.options.sampling;
  sampling.temperature = fields.number("temperature", 0, kHottest);
  sampling.top_p = fields.number("top_p", 0, 1);
  sampling.frequency_penalty =
      fields.number("frequency_penalty", -kHighestPenalty, kHighestPenalty).value_or(0);
  sampling.presence_penalty =
      fields.number("presence_penalty", -kHighestPenalty, kHighestPenalty).value_or(0);
  if (const auto seed = fields.integer("seed", -kLargestInteger, kLargestInteger))
    body.seed = static_cast<std::uint64_t>(*seed);
  if (const auto stop = fields.find("stop")) body.options.stop = texts_of(*stop, "stop", kMostStops);
  if (const auto options = fields.find("stream_options")) {
    if (!options->is_object())
      throw Refused(Fault::invalid, "\"stream_options\" is not an object", "stream_options");
    body.include_usage = BodyFields(*options).flag("include_usage", false);
  }
  refuse_unless_off(fields, "echo");
  return body;
}

// A text, or parts of one: [{"type": "text", "text": "..."}].
std::string content_of(const BodyFields& message) {
  const auto content = message.find("content");
  if (!content) return "";
  if (content->is_string()) return std::string(content->string());
  std::string text;
  read_value("messages", [&] {
    for (const io::JsonValue part : content->elements()) {
      if (!part.is_object()) part.fail("is not an object");
      const BodyFields fields(part);
      if (fields.text("type") != "text") part.fail("is not a part of type \"text\"");
      text += fields.required("text").string();
    }
    return true;
  });
  return text;
}

}  // namespace

WritingBody parse_completion(std::string_view text) {
  const BodyFields fields(text);
  WritingBody body = writing_of(fields);
  body.prompts = inputs_of(fields.required("prompt"), "prompt", kMostPrompts);
  body.options.max_tokens = fields.integer("max_tokens", 1, kMostNewTokens).value_or(16);
  const auto asked = fields.find("logprobs");
  if (asked && !(asked->kind() == io::JsonKind::boolean && !asked->boolean())) {
    body.options.log_probabilities = true;
    body.options.most_probable = *fields.integer("logprobs", 0, kMostCompletionLogprobs);
  }
  return body;
}

WritingBody parse_chat(std::string_view text) {
  const BodyFields fields(text);
  WritingBody body = writing_of(fields);
  body.options.max_tokens = fields.integer("max_completion_tokens", 1, kMostNewTokens);
  if (!body.options.max_tokens) body.options.max_tokens = fields.integer("max_tokens", 1, kMostNewTokens);
  body.options.log_probabilities = fields.flag("logprobs", false);
  body.options.most_probable = fields.integer("top_logprobs", 0, kMostChatLogprobs).value_or(0);
  if (body.options.most_probable > 0 && !body.options.log_probabilities)
    throw Refused(Fault::invalid, "\"top_logprobs\" needs \"logprobs\": true", "top_logprobs");
  const io::JsonValue messages = fields.required("messages");
  if (!messages.is_array()) throw Refused(Fault::invalid, "\"messages\" is not a list", "messages");
  const std::size_t count = messages.elements().size();
  if (count == 0) throw Refused(Fault::empty, "\"messages\" is empty", "messages");
  if (count > kMostMessages)
    throw Refused(Fault::too_many, joined("a conversation may have at most ", kMostMessages, " messages"),
                  "messages");
  for (const io::JsonValue message : messages.elements()) {
    if (!message.is_object()) throw Refused(Fault::invalid, "a message is not an object", "messages");
    const BodyFields inside(message);
    const auto role = inside.text("role");
    if (!role) throw Refused(Fault::invalid, "a message has no role", "messages");
    body.messages.push_back({.role = *role, .content = content_of(inside)});
  }
  return body;
}

}  // namespace attend::serve
