// What --help prints, laid out for the columns there are.
#pragma once

#include <string>

#include "reference/outline.h"

namespace attend::app {

std::string program_help(const reference::ProgramOutline& program, int width);
std::string command_help(const reference::ProgramOutline& program, const reference::CommandOutline& command,
                         int width);

}  // namespace attend::app
