// Does the order of the tokens matter? Measured: the lesson and its reverse, without positions and with them.
#pragma once

#include <string>
#include <vector>

#include "draw/terminal.h"
#include "steps/lesson.h"

namespace attend::steps {

struct OrderReport {
  std::vector<std::string> tokens;
  std::vector<double> without_positions;  // per token: how far its output moved when the tokens were reversed
  std::vector<double> with_positions;
};

// For a lesson with x.
OrderReport measure_order(const Lesson& lesson);
std::string narrate_order(const OrderReport& report, const draw::Terminal& terminal);

}  // namespace attend::steps
