// Completions for bash, zsh and fish: commands, options, and values where there is a list of them; otherwise
// files.
#include <string_view>

#include "reference/outline.h"

namespace attend::reference {
namespace {

std::string joined_by(std::string_view between, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : between).append(word);
  return text;
}

// In single quotes, as bash and zsh read them.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// fish takes a backslash for one inside of single quotes, too.
std::string quoted_for_fish(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string names_in(const std::vector<OptionOutline>& options) {
  std::string names;
  for (const OptionOutline& option : options)
    names.append(names.empty() ? "" : " ").append(joined_by(" ", option.names));
  return names;
}

std::vector<std::string> command_names(const ProgramOutline& program) {
  std::vector<std::string> names;
  for (const CommandOutline& command : program.commands) names.push_back(command.name);
  return names;
}

// One line of zsh's _arguments. In a description [ ] and : have a meaning.
std::string zsh_option(const OptionOutline& option) {
  std::string about;
  for (const char c : option.description)
    about += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  std::string value;
  if (!option.value.empty()) {
    value = ":" + option.value.substr(0, option.value.find(':')) + ":";
    value += option.choices.empty() ? "_files" : "(" + joined_by(" ", option.choices) + ")";
  }
  std::string lines;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    const std::string takes = option.value.empty() ? "" : is_long ? "=" : "+";
    lines += " \\\n      " + quoted("*" + name + takes + "[" + about + "]" + value);
  }
  return lines;
}

std::string zsh_options(const std::vector<OptionOutline>& options) {
  std::string text;
  for (const OptionOutline& option : options) text += zsh_option(option);
  return text;
}

// Cases of "command:option", with the only values that the option takes.
std::string bash_choices(const std::string& command, const std::vector<OptionOutline>& options) {
  std::string cases;
  for (const OptionOutline& option : options) {
    if (option.choices.empty()) continue;
    for (const std::string& name : option.names)
      cases += "    " + command + ":" + name + ") choices='" + joined_by(" ", option.choices) + "' ;;\n";
  }
  return cases;
}

}  // namespace

std::string bash_completion(const ProgramOutline& program) {
  std::string options, choices = bash_choices("", program.options);
  for (const CommandOutline& command : program.commands) {
    options += "    " + command.name + ") options='" + names_in(command.options) + "' ;;\n";
    choices += bash_choices(command.name, command.options);
  }
  const std::string commands = joined_by(" ", command_names(program));
  return "# bash completion for " + program.name + ", written from the program's own help.\n_" +
         program.name + R"(() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= options= choices= i
  local commands=')" +
         commands + R"('
  [[ $word == '=' ]] && word=
  [[ $previous == '=' ]] && previous=${COMP_WORDS[COMP_CWORD - 2]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
      command=${COMP_WORDS[i]}
      break
    fi
  done
  case $command in
    '') options=')" +
         names_in(program.options) + R"(' ;;
)" + options +
         R"(  esac
  case $command:$previous in
)" + choices +
         R"(    *) ;;
  esac
  COMPREPLY=()
  if [[ -n $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
  fi
}
complete -o bashdefault -o default -F _)" +
         program.name + " " + program.name + "\n";
}

std::string zsh_completion(const ProgramOutline& program) {
  std::string described, cases;
  for (const CommandOutline& command : program.commands) {
    std::string about;
    for (const char c : command.description) about += c == ':' ? std::string("\\:") : std::string(1, c);
    described += "    " + quoted(command.name + ":" + about) + "\n";
    cases += "    " + command.name + ")\n      _arguments -s" + zsh_options(command.options) +
             " \\\n      '*:file:_files'\n      ;;\n";
  }
  return "#compdef " + program.name + "\n# zsh completion for " + program.name +
         ", written from the program's own help.\n_" + program.name + R"(() {
  local context state line
  typeset -A opt_args
  local -a commands=(
)" + described +
         R"(  )
  _arguments -C)" +
         zsh_options(program.options) + R"( \
      '1: :->command' \
      '*:: :->rest'
  case $state in
    command) _describe command commands; return ;;
    rest) ;;
    *) return ;;
  esac
  case $words[1] in
)" + cases +
         R"(  esac
}
_)" + program.name +
         " \"$@\"\n";
}

std::string fish_completion(const ProgramOutline& program) {
  const std::string complete = "complete -c " + program.name;
  std::string text = "# fish completion for " + program.name + ", written from the program's own help.\n";
  const auto add = [&](const OptionOutline& option, const std::string& when) {
    text += complete + " -n " + quoted_for_fish(when);
    for (const std::string& name : option.names)
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.choices.empty())
      text += " -x -a " + quoted_for_fish(joined_by(" ", option.choices));
    else if (!option.value.empty())
      text += " -r";
    text += " -d " + quoted_for_fish(option.description) + "\n";
  };
  for (const OptionOutline& option : program.options) add(option, "__fish_use_subcommand");
  for (const CommandOutline& command : program.commands) {
    text += complete + " -n __fish_use_subcommand -f -a " + command.name + " -d " +
            quoted_for_fish(command.description) + "\n";
    for (const OptionOutline& option : command.options)
      add(option, "__fish_seen_subcommand_from " + command.name);
  }
  return text;
}

}  // namespace attend::reference
