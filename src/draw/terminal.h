// What the terminal supports: how many colours, how many columns.
#pragma once

#include <string>

namespace attend::draw {

enum class ColorDepth { none, ansi256, truecolor };
enum class ColorChoice { automatic, always, never };  // --color=auto|always|never

struct Terminal {
  ColorDepth color = ColorDepth::none;
  int width = 100;  // columns
};

// What is known about a file descriptor and the environment.
struct TerminalFacts {
  bool is_terminal = false;
  int columns = 0;            // as reported by the terminal; 0: unknown
  std::string columns_env;    // COLUMNS
  std::string term_env;       // TERM
  std::string colorterm_env;  // COLORTERM
  std::string no_color_env;   // NO_COLOR; no colour unless empty (https://no-color.org)
};
TerminalFacts terminal_facts(int fd);

// Decides from the facts alone. `always` gives colour even to a pipe and even with NO_COLOR.
Terminal describe_terminal(const TerminalFacts& facts, ColorChoice choice);

Terminal detect_terminal(int fd, ColorChoice choice);

}  // namespace attend::draw
