// Words for messages: text of unknown origin made safe to print, and counts that read as people say them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attend::steps {

// The text on one line: control characters, which could move the cursor or recolour the terminal, become
// escapes such as \x1b, and what exceeds `limit` bytes becomes "...".
std::string printable(std::string_view text, std::size_t limit = 40);

// "1 row", "3 rows".
std::string counted(std::int64_t count, std::string_view thing);

}  // namespace attend::steps
