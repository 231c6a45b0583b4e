// Words for messages: text of unknown origin made safe to print, and counts that read as people say them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attend::steps {

// At most 40 columns of the text, on one line and unable to drive the terminal.
std::string shown(std::string_view text);

// "1 row", "3 rows".
std::string counted(std::int64_t count, std::string_view thing);

}  // namespace attend::steps
