// The program as its command line describes itself: commands, options, and what their help says. Manual pages
// and completions are written from it, so that they say what --help says.
#pragma once

#include <string>
#include <vector>

namespace attend::reference {

struct OptionOutline {
  std::vector<std::string> names{};  // with their dashes, the short one first; of an argument its one name
  std::string value{};               // what it takes, such as FILE; "" for a flag
  std::string description{};
  std::vector<std::string> choices{};   // the only values, where there is a list of them
  bool required = false, many = false;  // many: may be given several times, or takes several values
};

struct CommandOutline {
  std::string name{}, group{}, description{};
  std::string notes{};  // what follows the options in its help
  std::vector<OptionOutline> arguments{}, options{};
};

struct ProgramOutline {
  std::string name{}, version{}, description{}, notes{};
  std::vector<OptionOutline> options{};
  std::vector<CommandOutline> commands{};
};

struct ReferenceFile {
  std::string path{};  // under share/ of an installation
  std::string text{};
};

// One manual page for the program and one for each command, and completions for bash, zsh and fish.
std::vector<ReferenceFile> reference_files(const ProgramOutline& program);

std::string program_page(const ProgramOutline& program);
std::string command_page(const ProgramOutline& program, const CommandOutline& command);
std::string bash_completion(const ProgramOutline& program);
std::string zsh_completion(const ProgramOutline& program);
std::string fish_completion(const ProgramOutline& program);

}  // namespace attend::reference
