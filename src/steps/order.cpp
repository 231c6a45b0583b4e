#include "steps/order.h"

#include <algorithm>
#include <cmath>

#include "draw/table.h"
#include "draw/text_width.h"
#include "steps/narrate.h"
#include "steps/walk.h"

namespace attend::steps {
namespace {

// The vectors of a lesson, first to last or last to first; nothing else of it.
Lesson vectors_of(const Lesson& lesson, bool backwards, bool positions) {
  const std::int64_t rows = lesson.x->size(0);
  Lesson result;
  result.x = Tensor(DType::f64, lesson.x->shape());
  for (std::int64_t i = 0; i < rows; ++i) {
    copy(lesson.x->view().select(0, i), result.x->view().select(0, backwards ? rows - 1 - i : i));
  }
  result.sinusoidal_positions = positions;
  return result;
}

// Per token: the largest difference between its output here and its output in the reversed lesson.
std::vector<double> moved(const Lesson& lesson, bool positions) {
  const Tensor forwards = walk("order", vectors_of(lesson, false, positions)).output;
  const Tensor backwards = walk("order", vectors_of(lesson, true, positions)).output;
  const std::int64_t rows = forwards.size(0), columns = forwards.size(1);
  std::vector<double> result;
  for (std::int64_t i = 0; i < rows; ++i) {
    double largest = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      const double here = forwards.values<double>()[static_cast<std::size_t>(i * columns + c)];
      const double there = backwards.values<double>()[static_cast<std::size_t>((rows - 1 - i) * columns + c)];
      largest = std::max(largest, std::abs(here - there));
    }
    result.push_back(largest);
  }
  return result;
}

}  // namespace

OrderReport measure_order(const Lesson& lesson) {
  return {lesson.tokens, moved(lesson, false), moved(lesson, true)};
}

std::string narrate_order(const OrderReport& report, const draw::Terminal& terminal) {
  draw::Table table;
  table.columns = {{"without positions"}, {"with positions"}};
  const auto cell = [](double value) { return draw::format_short(value, 4); };
  for (std::size_t i = 0; i < report.tokens.size(); ++i) {
    table.rows.push_back(
        {report.tokens[i], {cell(report.without_positions[i]), cell(report.with_positions[i])}});
  }
  return heading("Does the order matter?", terminal) +
         draw::indent(
             paragraph("How far each token's output moves when the sentence is turned round:", terminal), 2) +
         draw::indent(draw::render_table(table, terminal), 2) + "\n";
}

}  // namespace attend::steps
