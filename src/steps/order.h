// Does the order of the tokens matter? Measured: the lesson and its reverse, without positions and with them.
#pragma once

#include <string>
#include <vector>

#include "draw/terminal.h"
#include "steps/lesson.h"

namespace attend::steps {

// The same tokens in both orders, without positions or with them. All in the order of the lesson: row i of
// each is about token i.
struct BothOrders {
  Tensor forwards, backwards;  // (n, columns): the outputs
  std::vector<double> moved;   // per token: the largest difference between the two
};

struct OrderReport {
  std::vector<std::string> tokens;
  BothOrders without_positions, with_positions;
};

// For a lesson with x.
OrderReport measure_order(const Lesson& lesson);
std::string narrate_order(const OrderReport& report, const draw::Terminal& terminal);

}  // namespace attend::steps
