#include "draw/terminal.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace attend::draw {
namespace {

TerminalFacts modern_terminal() {
  TerminalFacts facts;
  facts.is_terminal = true;
  facts.columns = 132;
  facts.term_env = "xterm-256color";
  facts.colorterm_env = "truecolor";
  return facts;
}

ColorDepth color_of(const TerminalFacts& facts, ColorChoice choice = ColorChoice::automatic) {
  return describe_terminal(facts, choice).color;
}

TEST(Terminal, ColourAsFarAsTheTerminalGoes) {
  TerminalFacts facts = modern_terminal();
  EXPECT_EQ(color_of(facts), ColorDepth::truecolor);
  facts.colorterm_env = "24bit";
  EXPECT_EQ(color_of(facts), ColorDepth::truecolor);
  facts.colorterm_env = "";
  EXPECT_EQ(color_of(facts), ColorDepth::ansi256);
  facts.term_env = "dumb";
  EXPECT_EQ(color_of(facts), ColorDepth::none);
  facts.term_env = "";
  EXPECT_EQ(color_of(facts), ColorDepth::none);
}

TEST(Terminal, NoColorAndPipesTurnItOff) {
  TerminalFacts facts = modern_terminal();
  facts.no_color_env = "1";
  EXPECT_EQ(color_of(facts), ColorDepth::none);
  facts = modern_terminal();
  facts.is_terminal = false;
  EXPECT_EQ(color_of(facts), ColorDepth::none);
}

TEST(Terminal, TheUsersChoiceWins) {
  TerminalFacts pipe = modern_terminal();
  pipe.is_terminal = false;
  pipe.no_color_env = "1";
  EXPECT_EQ(color_of(pipe, ColorChoice::always), ColorDepth::truecolor);
  EXPECT_EQ(color_of({}, ColorChoice::always), ColorDepth::ansi256);
  EXPECT_EQ(color_of(modern_terminal(), ColorChoice::never), ColorDepth::none);
}

TEST(Terminal, WidthFromTheTerminalThenColumnsThenADefault) {
  const auto width_of = [](const TerminalFacts& facts) {
    return describe_terminal(facts, ColorChoice::automatic).width;
  };
  TerminalFacts facts = modern_terminal();
  facts.columns_env = "70";
  EXPECT_EQ(width_of(facts), 132);
  facts.columns = 0;
  EXPECT_EQ(width_of(facts), 70);
  for (const char* nonsense : {"", "0", "-5", "wide", "80x", "99999999999999999999"}) {
    facts.columns_env = nonsense;
    EXPECT_EQ(width_of(facts), 80) << nonsense;
  }
  facts.is_terminal = false;
  EXPECT_EQ(width_of(facts), 100);
  facts.columns_env = "3";
  EXPECT_EQ(width_of(facts), 20) << "never too narrow to draw in";
}

TEST(Terminal, APipeIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(terminal_facts(ends[1]).is_terminal);
  EXPECT_EQ(detect_terminal(ends[1], ColorChoice::automatic).color, ColorDepth::none);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace attend::draw
