// The program `attend`: reads the command line, runs one command, turns any failure into one line and an exit
// code.
#include <attend/version.h>

#include <exception>
#include <iostream>
#include <map>
#include <new>

#include "app/command.h"

namespace {

using namespace attend;

int complain(const std::string& command, const std::string& sentence, int code) {
  std::cerr << command << ": " << sentence << "\n";
  if (code == app::kUsage) std::cerr << "Try `" << command << " --help`.\n";
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("Self-attention that is exact and shows its work.", "attend");
  program.set_version_flag("--version", "attend " + std::string(version()));
  program.require_subcommand(1);
  program.fallthrough();
  program.footer("\nattend steps --help says more about a command.");

  app::Globals globals;
  const std::map<std::string, draw::ColorChoice> choices = {{"auto", draw::ColorChoice::automatic},
                                                            {"always", draw::ColorChoice::always},
                                                            {"never", draw::ColorChoice::never}};
  program.add_option("--color", globals.color, "auto, always or never (default: auto, which heeds NO_COLOR)")
      ->transform(CLI::CheckedTransformer(choices).description(""))
      ->type_name("WHEN");

  std::function<void()> run;
  app::add_steps_command(program, globals, run);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return program.exit(request);
  } catch (const CLI::ParseError& error) {
    return complain("attend", error.what(), app::kUsage);
  }

  const std::string command = "attend " + program.get_subcommands().front()->get_name();
  try {
    run();
    return app::kDone;
  } catch (const app::UsageError& error) {
    return complain(command, error.what(), app::kUsage);
  } catch (const std::bad_alloc&) {
    return complain(command, "there is not enough memory", app::kFailed);
  } catch (const std::exception& error) {
    return complain(command, error.what(), app::kFailed);
  }
}
