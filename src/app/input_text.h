// A text from the command line.
#pragma once

#include <string>

namespace attend::app {

// The argument itself; "-" is standard input, and the name of a file what the file holds. One line end at the
// end is not part of it. Throws std::runtime_error, one sentence, for what cannot be read, is empty or is
// larger than any text that a model reads.
std::string input_text(const std::string& argument);

}  // namespace attend::app
