// A text from the command line.
#pragma once

#include <string>

namespace attend::app {

// The argument itself, or standard input for "-", or the contents of a file if it is the name of one. A final
// newline is dropped. Throws std::runtime_error, one sentence, for a text that cannot be read, is empty or is
// larger than any text that a model reads, and for what looks like the name of a file that is not there.
std::string input_text(const std::string& argument);

}  // namespace attend::app
