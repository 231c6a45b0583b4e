// Inputs of requests as the tokens that a model reads.
#pragma once

#include <attend/text_model.h>

#include "serve/bodies.h"

namespace attend::serve {

// Throws Refused: for a text that is too long and may not be cut, ids outside the vocabulary, a prompt that
// the model does not have, and for a text without tokens.
Encoding tokens_of(const TextModel& model, const Input& input, const InputOptions& options);

// The same of a text alone or a pair, with the prompt in front of its first text. A pair is cut at its end
// only.
Encoding tokens_of(const TextModel& model, const TextPair& text, const InputOptions& options);

// What stands before every text: the prompt of that name, else the model's default.
std::string prompt_of(const TextModel& model, const std::optional<std::string>& name);

}  // namespace attend::serve
