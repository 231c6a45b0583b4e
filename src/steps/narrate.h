// The walk as text: step by step, each with its operation, its shape and its numbers.
#pragma once

#include <string>

#include "draw/terminal.h"
#include "steps/walk.h"

namespace attend::steps {

std::string narrate_steps(const Lesson& lesson, const Walk& walk, const draw::Terminal& terminal);

// Every step with its operation and shape, in one table.
std::string narrate_shapes(const Walk& walk, const draw::Terminal& terminal);

}  // namespace attend::steps
