#include "reference/outline.h"

namespace attend::reference {

std::vector<ReferenceFile> reference_files(const ProgramOutline& program) {
  std::vector<ReferenceFile> files{
      {"man/man1/" + program.name + ".1", program_page(program)},
      {"bash-completion/completions/" + program.name, bash_completion(program)},
      {"zsh/site-functions/_" + program.name, zsh_completion(program)},
      {"fish/vendor_completions.d/" + program.name + ".fish", fish_completion(program)},
  };
  for (const CommandOutline& command : program.commands) {
    files.push_back({"man/man1/" + program.name + "-" + command.name + ".1", command_page(program, command)});
  }
  return files;
}

}  // namespace attend::reference
