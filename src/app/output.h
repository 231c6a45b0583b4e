// All that the program writes to standard output and standard error. What goes to a terminal passes draw's
// gate, so that no text of unknown origin can drive it; pipes and files get the true bytes.
#pragma once

#include <string_view>

namespace attend::app {

// To standard output. Throws std::runtime_error when the data cannot be written (a full disk). A reader that
// has gone away (a closed pipe) ends the program quietly.
void write_output(std::string_view data);

// The same for what draw rendered, whose styles a terminal gets as well.
void write_styled(std::string_view rendered);

// A sentence of ours with names of unknown origin in it, as one line on standard error.
void say(std::string_view sentence);

}  // namespace attend::app
