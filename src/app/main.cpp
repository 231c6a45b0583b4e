// The program `attend`: parses the command line, runs one command, and turns any failure into one line and an
// exit code.
#include <attend/version.h>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "app/command.h"
#include "app/help.h"
#include "app/outline.h"
#include "app/output.h"
#include "base/error.h"
#include "base/slips.h"
#include "draw/terminal.h"

namespace {

using namespace attend;

constexpr const char* kProgramFooter = R"(`attend COMMAND --help` has a command's options and examples.

Try:
  attend explain                           what a real model does with a sentence
  attend explain "your text" --focus word  your own, with one word in detail
  attend explore                           the same in the browser, to explore
  attend steps                             attention on four words, every number shown
  attend steps --example it --focus it     one row of it, written out
  attend steps --help                      options, examples, and the file format
  attend train                             watch attention learn to find an answer
  attend chat -m MODEL                     talk to a model, and see what it looks at
  attend models                            which models are on this machine
  attend embed texts.txt -o vectors.npy    one vector per line of a file
  attend rerank "query" passages.txt -m MODEL
                                           the passages that answer a query best first
  attend serve                             vectors over HTTP, for clients you already have
  attend bench --quick                     speed, as a share of this machine's peak
  attend doctor                            what this machine and the model will use, and why)";

int report_failure(const std::string& command, const std::string& sentence, int code) {
  app::say(command + ": " + sentence);
  if (code == app::kUsage) app::say("Try `" + command + " --help`.");
  return code;
}

// The order in which --help lists commands, by what people want.
constexpr std::pair<const char*, const char*> kGroups[] = {
    {"See what attention does", "explain explore next compare heads steps"},
    {"Watch it learn", "train"},
    {"Let a model write", "generate chat"},
    {"Vectors and scores, from files and over HTTP", "embed rerank classify serve"},
    {"Models and this machine", "models pull doctor bench"},
};

void group_commands(CLI::App& program) {
  for (CLI::App* const command : program.get_subcommands([](const CLI::App*) { return true; })) {
    for (const auto& [title, names] : kGroups) {
      if ((" " + std::string(names) + " ").find(" " + command->get_name() + " ") != std::string::npos)
        command->group(title);
    }
  }
}

// "attend", or "attend steps" once that is known.
std::string command_name(const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  return chosen.empty() ? "attend" : "attend " + chosen.front()->get_name();
}

// "; did you mean --focus?", of names that are there, or nothing where none is close.
std::string suggestion(const std::string& given, const std::vector<std::string>& names) {
  std::string best;
  std::size_t fewest = 1 + given.size() / 4;  // slips that a name of this length may have
  for (const std::string& name : names) {
    const std::size_t slips = detail::slips_between(given, name);
    if (slips > fewest || (slips == fewest && !best.empty())) continue;
    best = name;
    fewest = slips;
  }
  return best.empty() ? "" : "; did you mean " + best + "?";
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command :
       program.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); }))
    names.push_back(command->get_name());
  return names;
}

// Describes an argument that was not understood.
std::string unexpected(const CLI::App& program) {
  const std::vector<std::string> extras = program.remaining(true);
  const std::string first = extras.empty() ? "" : extras.front();
  const auto chosen = program.get_subcommands();
  if (first.starts_with('-')) {
    return "there is no option " + first +
           suggestion(first.substr(0, first.find('=')),
                      option_names(chosen.empty() ? program : *chosen.front()));
  }
  if (!chosen.empty()) return "unexpected argument \"" + first + "\"";
  const std::vector<std::string> names = command_names(program);
  const std::string close = suggestion(first, names);
  if (!close.empty()) return "there is no command \"" + first + "\"" + close;
  return "there is no command \"" + first + "\"; the commands are: " + CLI::detail::join(names, ", ");
}

// An option without its value, or a flag with one: "--focus: 1 required TOKEN missing", "json was given a
// disallowed flag override".
std::string wrong_count(const std::string& message) {
  const std::size_t colon = message.find(':');
  if (colon != std::string::npos) return message.substr(0, colon) + " needs a value";
  return "--" + message.substr(0, message.find(' ')) + " takes no value";
}

// Of the program, or of the command that was named.
std::string help_of(CLI::App& program) {
  const int width = draw::detect_terminal(STDOUT_FILENO, draw::ColorChoice::never).width;
  const reference::ProgramOutline outline = app::outline_of_program(program);
  const auto chosen = program.get_subcommands();
  if (chosen.empty()) return app::program_help(outline, width);
  return app::command_help(outline, app::outline_of(*chosen.front()), width);
}

// "file is required" names an argument in small letters, which help and usage do not.
std::string missing(std::string message) {
  const std::size_t end = message.find(' ');
  if (!message.starts_with('-')) {
    std::transform(message.begin(),
                   message.begin() + static_cast<std::ptrdiff_t>(std::min(end, message.size())),
                   message.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  return message;
}

// Sets `run`, or leaves it empty when there is nothing more to do (--help, --version).
void read_command_line(CLI::App& program, int argc, char** argv, const std::function<void()>& run) {
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& request) {
    if (program.get_subcommands().empty() && program.remaining_size(true) > 0)
      throw app::UsageError(unexpected(program));
    const bool version = dynamic_cast<const CLI::CallForVersion*>(&request) != nullptr;
    app::write_output(version ? program.version() + "\n" : help_of(program));
    return;
  } catch (const CLI::ExtrasError&) {
    throw app::UsageError(unexpected(program));
  } catch (const CLI::ArgumentMismatch& error) {
    throw app::UsageError(wrong_count(error.what()));
  } catch (const CLI::RequiredError& error) {
    throw app::UsageError(missing(error.what()));
  } catch (const CLI::ParseError& error) {
    throw app::UsageError(error.what());
  }
  if (!run) app::write_output(help_of(program));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("Self-attention that is exact and shows its work.", "attend");
  program.set_version_flag("--version", "attend " + std::string(version()), "Print the version and exit");
  program.set_help_flag("-h,--help", "Print this help and exit");
  program.require_subcommand(0, 1);
  program.fallthrough();
  program.footer(kProgramFooter);

  app::Globals globals;
  std::function<void()> run;
  app::add_color_option(program, globals);
  app::add_explain_command(program, globals, run);
  app::add_explore_command(program, globals, run);
  app::add_next_command(program, globals, run);
  app::add_compare_command(program, globals, run);
  app::add_heads_command(program, globals, run);
  app::add_steps_command(program, globals, run);
  app::add_train_command(program, globals, run);
  app::add_generate_command(program, globals, run);
  app::add_chat_command(program, globals, run);
  app::add_embed_command(program, globals, run);
  app::add_rerank_command(program, globals, run);
  app::add_classify_command(program, globals, run);
  app::add_serve_command(program, globals, run);
  app::add_models_command(program, globals, run);
  app::add_pull_command(program, globals, run);
  app::add_doctor_command(program, globals, run);
  app::add_bench_command(program, globals, run);
  app::add_reference_command(program, globals, run);
  group_commands(program);
  try {
    read_command_line(program, argc, argv, run);
    if (run) run();
    return app::kDone;
  } catch (const app::UsageError& error) {
    return report_failure(command_name(program), error.what(), app::kUsage);
  } catch (const std::bad_alloc&) {
    return report_failure(command_name(program), "there is not enough memory", app::kFailed);
  } catch (const std::exception& error) {
    return report_failure(command_name(program), plain_sentence(error), app::kFailed);
  }
}
