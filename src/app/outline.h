// The command line as data, read back from CLI11: --help, manual pages and completions are written from it.
#pragma once

#include <CLI/CLI.hpp>

#include "reference/outline.h"

namespace attend::app {

reference::CommandOutline outline_of(CLI::App& command);
// Of the commands that are shown, by their groups.
reference::ProgramOutline outline_of_program(CLI::App& program);

}  // namespace attend::app
