// Log-probabilities of tokens that were written, in the two forms that OpenAI's clients read.
#pragma once

#include <attend/generation.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace attend::serve {

// Of one text, piece by piece.
class LogProbabilities {
 public:
  // previous: the prompt's last token, after which the first one stands.
  LogProbabilities(const Tokenizer& tokenizer, std::int32_t previous)
      : tokenizer_(tokenizer), previous_(previous) {}

  // The next tokens. {"tokens", "token_logprobs", "top_logprobs", "text_offset"}: of completions; offsets
  // count characters from where the answer begins. {"content": [...]}: of chats.
  nlohmann::ordered_json completion(std::span<const GeneratedToken> tokens);
  nlohmann::ordered_json chat(std::span<const GeneratedToken> tokens);

 private:
  std::string text_of(std::int32_t id) const;

  const Tokenizer& tokenizer_;
  std::int32_t previous_;
  std::int64_t characters_ = 0;
};

}  // namespace attend::serve
