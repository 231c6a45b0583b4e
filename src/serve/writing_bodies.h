// The bodies of requests to models that write. As in bodies.h.
#pragma once

#include <attend/generation.h>

#include "serve/bodies.h"

namespace attend::serve {

struct WritingBody {
  std::optional<std::string> model{};
  std::vector<Input> prompts{};         // of a completion
  std::vector<ChatMessage> messages{};  // of a chat
  GenerateOptions options{};
  std::int64_t choices = 1;  // for each prompt; choice i has the seed plus i
  std::optional<std::uint64_t> seed{};
  bool stream = false, include_usage = false;
  // options.log_probabilities: those of the tokens are told; options.most_probable of others beside each.
};

inline constexpr std::size_t kMostPrompts = 128, kMostMessages = 1024, kMostStops = 16;
inline constexpr std::int64_t kMostChoices = 16, kMostNewTokens = 1 << 20;
inline constexpr std::int64_t kMostCompletionLogprobs = 5, kMostChatLogprobs = 20;  // OpenAI's

// POST /v1/completions, /v1/chat/completions
WritingBody parse_completion(std::string_view body);
WritingBody parse_chat(std::string_view body);

}  // namespace attend::serve
