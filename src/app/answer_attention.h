// Which words of a conversation its last answer looked at.
#pragma once

#include <attend/generation.h>

#include <span>
#include <string>

#include "draw/terminal.h"

namespace attend::app {

// The mean over all layers and heads, and over the words of the last message; as bars for the terminal.
// Special tokens, where heads put what they have no use for, and the template's own words are left out, and
// said.
std::string answer_attention(Generator& generator, std::span<const ChatMessage> messages,
                             const draw::Terminal& terminal);

}  // namespace attend::app
