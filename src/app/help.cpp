#include "app/help.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "draw/prose.h"
#include "draw/text_width.h"

namespace attend::app {
namespace {

using reference::CommandOutline;
using reference::OptionOutline;

constexpr int kWidest = 96, kNarrowest = 40;  // of a help; longer lines are hard to read
constexpr int kWidestNames = 26;              // wider ones have a line of their own

int columns_of(int width) { return std::clamp(width, kNarrowest, kWidest); }

// Text to the right of `column`, in as many lines as it takes; the first line is to the right of `left`.
std::string beside(std::string_view left, std::string_view text, int column, int width) {
  std::string lines = draw::indent(draw::wrap(text, std::max(width - column, kNarrowest / 2)), column);
  if (lines.empty()) return joined(left, "\n");
  if (draw::text_width(left) + 1 >= column) return joined(left, "\n", lines);
  return draw::pad_right(left, column) + lines.substr(static_cast<std::size_t>(column));
}

// "-m, --model MODEL"; an option without a short name leaves room for one.
std::string names_of(const OptionOutline& option) {
  std::string names;
  for (const std::string& name : option.names) names.append(names.empty() ? "" : ", ").append(name);
  if (names.starts_with("--")) names.insert(0, "    ");
  if (names.starts_with('-') || names.starts_with(' ')) {
    if (!option.value.empty()) names.append(" ").append(option.value);
    if (option.many) names.append(" ...");
  }
  return names;
}

// With the values that are allowed, unless it names them itself.
std::string description_of(const OptionOutline& option) {
  const auto named = [&](const std::string& choice) {
    return option.description.find(choice) != std::string::npos;
  };
  std::string text = option.description;
  if (option.choices.empty() || std::ranges::all_of(option.choices, named)) return text;
  std::string list;
  for (const std::string& choice : option.choices) list.append(list.empty() ? "" : ", ").append(choice);
  return joined(text, " (", list, ")");
}

using Entries = std::vector<std::pair<std::string, std::string>>;  // names, and what they mean

std::string table(const Entries& entries, int width) {
  int column = 0;
  for (const auto& [names, meaning] : entries) {
    const int wide = draw::text_width(names);
    if (wide <= kWidestNames) column = std::max(column, wide);
  }
  std::string text;
  for (const auto& [names, meaning] : entries) text += beside("  " + names, meaning, column + 4, width);
  return text;
}

std::string options_table(const std::vector<OptionOutline>& options, int width) {
  Entries entries;
  for (const OptionOutline& option : options) entries.emplace_back(names_of(option), description_of(option));
  return table(entries, width);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// An indented line of notes: an example stays in one piece, to be copied, and what is said of it moves below
// if it does not fit beside it.
std::string indented(std::string_view line, int width) {
  const std::size_t begin = line.find_first_not_of(' '), gap = line.find("  ", begin);
  if (draw::text_width(line) <= width || gap == std::string_view::npos) return joined(line, "\n");
  const std::size_t column = line.find_first_not_of(' ', gap);
  const std::string_view meaning = line.substr(column);
  const int left = draw::text_width(line.substr(0, column));
  if (left <= width / 2) return beside(line.substr(0, gap), meaning, left, width);
  return joined(line.substr(0, gap), "\n") + draw::indent(draw::wrap(meaning, width - 6), 6);
}

// Paragraphs are filled to the width; tables and examples keep their lines.
std::string notes_text(std::string_view notes, int width) {
  std::string text, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) text += draw::wrap(paragraph, width);
    paragraph.clear();
  };
  for (const std::string_view line : lines_of(notes)) {
    if (!line.empty() && line.front() != ' ') {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
      continue;
    }
    end_paragraph();
    text += line.empty() ? "\n" : indented(line, width);
  }
  end_paragraph();
  return text.starts_with('\n') ? text.substr(1) : text;
}

std::string usage_of(const CommandOutline& command) {
  std::string usage = " [OPTIONS]";
  for (const OptionOutline& argument : command.arguments) {
    const std::string name = joined(argument.names.front(), argument.many ? " ..." : "");
    usage += argument.required ? joined(" ", name) : joined(" [", name, "]");
  }
  return usage;
}

}  // namespace

std::string program_help(const reference::ProgramOutline& program, int width) {
  width = columns_of(width);
  std::string text = draw::wrap(program.description, width);
  text += joined("Usage: ", program.name, " COMMAND [OPTIONS]\n");
  std::string_view group;
  Entries entries;
  const auto end_group = [&] {
    if (!entries.empty()) text += joined("\n", group, ":\n", table(entries, width));
    entries.clear();
  };
  for (const CommandOutline& command : program.commands) {
    if (command.group != group) end_group();
    group = command.group;
    entries.emplace_back(draw::pad_right(command.name, 10), command.description);
  }
  end_group();
  text += joined("\nOptions:\n", options_table(program.options, width));
  return text + "\n" + notes_text(program.notes, width);
}

std::string command_help(const reference::ProgramOutline& program, const CommandOutline& command, int width) {
  width = columns_of(width);
  std::string text = draw::wrap(command.description, width);
  text += joined("Usage: ", program.name, " ", command.name, usage_of(command), "\n");
  if (!command.arguments.empty()) text += "\n" + options_table(command.arguments, width);
  text += joined("\nOptions:\n", options_table(command.options, width));
  return text + "\n" + notes_text(command.notes, width);
}

}  // namespace attend::app
