#include "app/outline.h"

#include <algorithm>

namespace attend::app {
namespace {

using reference::CommandOutline;
using reference::OptionOutline;

// What CLI11 says of the values of an option: "POSITIVE", or "{bash,zsh}" for a list of all of them.
std::vector<std::string> rules_of(CLI::Option& option) {
  std::vector<std::string> rules;
  try {
    for (int number = 0;; ++number) rules.push_back(option.get_validator(number)->get_description());
  } catch (const CLI::OptionNotFound&) {  // that was the last
  }
  return rules;
}

OptionOutline outline_of(CLI::Option& option) {
  OptionOutline outline{.description = option.get_description(), .required = option.get_required()};
  for (const std::string& name : option.get_snames()) outline.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) outline.names.push_back("--" + name);
  std::string value = option.get_type_name();  // with the rules after it
  const std::vector<std::string> rules = rules_of(option);
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
    if (!rule->empty() && value.ends_with(":" + *rule)) value.resize(value.size() - rule->size() - 1);
    if (rule->starts_with('{')) outline.choices = CLI::detail::split(rule->substr(1, rule->size() - 2), ',');
  }
  if (!option.get_option_text().empty()) value = option.get_option_text();
  if (option.get_items_expected_max() > 0) outline.value = value;
  outline.many = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (option.get_positional()) outline.names = {value.empty() ? option.get_name(true) : value};
  const std::string otherwise = option.get_default_str();
  if (!otherwise.empty() && outline.description.find("default") == std::string::npos)
    outline.description += " (default: " + otherwise + ")";
  return outline;
}

}  // namespace

CommandOutline outline_of(CLI::App& command) {
  CommandOutline outline{.name = command.get_name(),
                         .group = command.get_group(),
                         .description = command.get_description(),
                         .notes = command.get_footer()};
  for (CLI::Option* const option : command.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? outline.arguments : outline.options).push_back(outline_of(*option));
  }
  return outline;
}

reference::ProgramOutline outline_of_program(CLI::App& program) {
  const CommandOutline own = outline_of(program);
  reference::ProgramOutline outline{.name = own.name,
                                    .version = program.version().substr(own.name.size() + 1),
                                    .description = own.description,
                                    .notes = own.notes,
                                    .options = own.options};
  const auto shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (CLI::App* const command : program.get_subcommands(shown))
    outline.commands.push_back(outline_of(*command));
  std::vector<std::string> groups;  // in the order of --help
  for (const CommandOutline& command : outline.commands)
    if (std::ranges::find(groups, command.group) == groups.end()) groups.push_back(command.group);
  std::ranges::stable_sort(outline.commands, {}, [&](const CommandOutline& command) {
    return std::ranges::find(groups, command.group) - groups.begin();
  });
  return outline;
}

}  // namespace attend::app
