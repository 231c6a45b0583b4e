// Manual pages, in the macros of man(7).
#include <algorithm>
#include <string_view>

#include "reference/outline.h"

namespace attend::reference {
namespace {

constexpr std::string_view kEnvironment = R"(.SH ENVIRONMENT
.TP
.B ATTEND_THREADS
how many threads compute; default: one for each core that may be used
.TP
.B ATTEND_ISA
the instruction set to compute with, such as avx2, even where the machine has a better one
.TP
.B ATTEND_MODELS
where models that do not come from the hub are kept; default: ~/.cache/attend/models
.TP
.BR HF_HUB_CACHE ", " HF_HOME
where models from the hub are kept
.TP
.BR HF_TOKEN ", " HF_ENDPOINT ", " HF_HUB_OFFLINE
a token for private models, another hub, and 1 for no network
.TP
.B NO_COLOR
if set, output has no colours
.SH "EXIT STATUS"
0 on success, 1 on failure, 2 for an invalid command line.
)";

// A line as it is: nothing at its start or in it is taken for a request, and a dash is one that can be
// copied.
std::string roff(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out = "\\&";
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// What follows the options in a help: paragraphs are filled, indented lines stay as they are, and "Try:"
// begins the examples.
std::string notes_of(std::string_view notes) {
  std::string text;
  bool kept = false, begun = true;
  const auto keep = [&](bool now) {
    if (now != kept) text += now ? ".PP\n.nf\n" : ".fi\n";
    kept = now;
  };
  for (const std::string_view line : lines_of(notes)) {
    if (line == "Try:") {
      keep(false);
      text += ".SH EXAMPLES\n";
    } else if (line.empty()) {
      keep(false);
      begun = true;
    } else if (line.starts_with(' ')) {
      keep(true);
      text += roff(line) + "\n";
    } else {
      keep(false);
      if (begun && !text.ends_with(".SH EXAMPLES\n")) text += ".PP\n";
      text += roff(line) + "\n";
    }
    if (!line.empty()) begun = false;
  }
  keep(false);
  return text;
}

std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string option_entry(const OptionOutline& option) {
  std::string names;
  if (!option.names.front().starts_with('-')) {
    names = italic(option.names.front());
  } else {
    for (const std::string& name : option.names) names.append(names.empty() ? "" : ", ").append(bold(name));
    if (!option.value.empty()) names += " " + italic(option.value);
  }
  return ".TP\n" + names + "\n" + roff(option.description) + "\n";
}

std::string entries(const std::vector<OptionOutline>& options) {
  std::string text;
  for (const OptionOutline& option : options) text += option_entry(option);
  return text;
}

std::string head(const ProgramOutline& program, const std::string& name, const std::string& description) {
  std::string title = name;
  std::ranges::transform(title, title.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  std::string what = description.ends_with('.') ? description.substr(0, description.size() - 1) : description;
  return ".\\\" Written from the program's own help.\n.TH " + title + " 1 \"\" \"" + program.name + " " +
         program.version + "\" \"User Commands\"\n.SH NAME\n" + name + " \\- " + roff(what) + "\n";
}

}  // namespace

std::string program_page(const ProgramOutline& program) {
  std::string text = head(program, program.name, program.description);
  text += ".SH SYNOPSIS\n" + bold(program.name) + " [\\fIOPTIONS\\fR] \\fICOMMAND\\fR ...\n.SH COMMANDS\n";
  text += "Each has a page of its own, such as \\fB" + program.name + "\\-" + program.commands.front().name +
          "\\fR(1).\n";
  std::string group;
  for (const CommandOutline& command : program.commands) {
    if (command.group != group) text += ".SS \"" + roff(group = command.group) + "\"\n";
    text += ".TP\n" + bold(command.name) + "\n" + roff(command.description) + "\n";
  }
  text += ".SH OPTIONS\n" + entries(program.options) + notes_of(program.notes);
  text += kEnvironment;
  text += ".SH \"SEE ALSO\"\n";
  for (const CommandOutline& command : program.commands) {
    text += ".BR " + program.name + "\\-" + command.name + " (1)" +
            (&command == &program.commands.back() ? "\n" : ",\n");
  }
  return text;
}

std::string command_page(const ProgramOutline& program, const CommandOutline& command) {
  std::string text = head(program, program.name + "-" + command.name, command.description);
  text += ".SH SYNOPSIS\n" + bold(program.name + " " + command.name) + " [\\fIOPTIONS\\fR]";
  for (const OptionOutline& argument : command.arguments) {
    const std::string name = italic(argument.names.front());
    text += argument.required ? " " + name : " [" + name + "]";
  }
  const std::string_view notes = command.notes;
  const std::size_t examples = std::min(notes.find("Try:\n"), notes.size());
  const std::string description = notes_of(notes.substr(0, examples));
  text += "\n" + (description.empty() ? "" : ".SH DESCRIPTION\n" + description);
  text += ".SH OPTIONS\n" + entries(command.arguments) + entries(command.options) +
          notes_of(notes.substr(examples));
  return text + ".SH \"SEE ALSO\"\n.BR " + program.name + " (1)\n";
}

}  // namespace attend::reference
