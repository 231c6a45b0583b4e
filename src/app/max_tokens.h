// --max-tokens of explain: how much of a text is read.
#pragma once

#include <attend/lens.h>

#include <cstdint>
#include <optional>
#include <string>

namespace attend::app {

// A number from 1, or "all", which is more than any text has. Throws UsageError for anything else.
std::optional<std::int64_t> tokens_wanted(const std::optional<std::string>& given);

// Throws UsageError where special tokens leave no room for text.
void require_room(const TextModel& model, std::int64_t wanted);

// Of a text that was cut: which --max-tokens reads more of it, as a sentence after others; may be empty.
std::string hint_at_max_tokens(const Reading& reading);

}  // namespace attend::app
