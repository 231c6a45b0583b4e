// Does the order of the tokens matter? Compares the lesson with its reverse, without positions and with them.
#pragma once

#include <string>
#include <vector>

#include "draw/table.h"
#include "draw/terminal.h"
#include "steps/lesson.h"

namespace attend::steps {

// The same tokens in both orders, without positions or with them. Row i is always about token i of the
// lesson.
struct BothOrders {
  Tensor forwards, backwards;  // (n, columns): the outputs
  std::vector<double> moved;   // per token: the largest difference between the two outputs
};

struct OrderReport {
  std::vector<std::string> tokens;
  BothOrders without_positions, with_positions;
};

// For a lesson with x.
OrderReport measure_order(const Lesson& lesson);
// Both comparisons, without positions and with them.
std::vector<draw::Table> order_tables(const OrderReport& report);
std::string narrate_order(const OrderReport& report, const draw::Terminal& terminal);

}  // namespace attend::steps
