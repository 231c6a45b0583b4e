#include "draw/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace attend::draw {
namespace {

constexpr int kWidthOfPipe = 100;
constexpr int kWidthOfUnknownTerminal = 80;
constexpr int kLeastWidth = 20;     // anything narrower is unreadable
constexpr int kMostWidth = 10'000;  // COLUMNS may hold anything

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int number_in(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end && number > 0 ? number : 0;
}

int width_of(const TerminalFacts& facts) {
  int width = facts.columns > 0 ? facts.columns : number_in(facts.columns_env);
  if (width == 0) width = facts.is_terminal ? kWidthOfUnknownTerminal : kWidthOfPipe;
  return std::clamp(width, kLeastWidth, kMostWidth);
}

bool colors_wanted(const TerminalFacts& facts, ColorChoice choice) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  return facts.is_terminal && facts.no_color_env.empty() && !facts.term_env.empty() &&
         facts.term_env != "dumb";
}

}  // namespace

TerminalFacts terminal_facts(int fd) {
  TerminalFacts facts;
  // mpirun gives each process a terminal of its own, wherever its own output goes.
  facts.is_terminal = isatty(fd) == 1 && environment("OMPI_COMM_WORLD_RANK").empty();
  winsize size{};
  if (facts.is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0) facts.columns = size.ws_col;
  facts.columns_env = environment("COLUMNS");
  facts.term_env = environment("TERM");
  facts.colorterm_env = environment("COLORTERM");
  facts.no_color_env = environment("NO_COLOR");
  return facts;
}

Terminal describe_terminal(const TerminalFacts& facts, ColorChoice choice) {
  Terminal terminal;
  terminal.width = width_of(facts);
  if (colors_wanted(facts, choice)) {
    const bool full = facts.colorterm_env == "truecolor" || facts.colorterm_env == "24bit" ||
                      facts.term_env.ends_with("-direct");
    terminal.color = full ? ColorDepth::truecolor : ColorDepth::ansi256;
  }
  return terminal;
}

Terminal detect_terminal(int fd, ColorChoice choice) { return describe_terminal(terminal_facts(fd), choice); }

}  // namespace attend::draw
