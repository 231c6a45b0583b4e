// How a text may be prepared for a model: truncated or whole, with a prompt or without.
#pragma once

#include <attend/text_model.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attend::doctor {

struct Preparation {
  std::string cause, setting;  // "truncation", "128 tokens"
  std::string meaning;         // "the reference cut its texts at 128 tokens"; empty for the model's own
  std::string prompt{};
  std::int64_t max_tokens = 0;
  bool lower_case = false, strip = false, special_tokens = true;
};

Preparation usual_preparation(const TextModel& model);

// Those that are often the reason for different vectors: other limits, lower case, stripped white space, no
// special tokens, other prompts.
std::vector<Preparation> other_preparations(const TextModel& model);

std::vector<Encoding> encode(const TextModel& model, std::span<const std::string> texts,
                             const Preparation& preparation);

}  // namespace attend::doctor
