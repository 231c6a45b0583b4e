// Standard output, written whole or reported.
#pragma once

#include <string_view>

namespace attend::app {

// Throws std::runtime_error when the data cannot be written (a full disk). A reader that has gone away (a
// closed pipe) ends the program quietly.
void write_output(std::string_view data);

}  // namespace attend::app
