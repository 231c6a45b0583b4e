// Everything that the program writes to standard output and standard error. Output to a terminal passes
// through draw's printable(), so that no text of unknown origin can control it; pipes and files get the bytes
// unchanged.
#pragma once

#include <string_view>

namespace attend::app {

// To standard output. Throws std::runtime_error if the data cannot be written (a full disk). A closed pipe
// ends the program quietly.
void write_output(std::string_view data);

// The same for text that draw rendered; a terminal also gets its styles.
void write_styled(std::string_view rendered);

// One line on standard error: a sentence that may contain names of unknown origin.
void say(std::string_view sentence);

}  // namespace attend::app
