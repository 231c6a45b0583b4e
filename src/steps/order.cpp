#include "steps/order.h"

#include <algorithm>
#include <cmath>

#include "draw/prose.h"
#include "draw/table.h"
#include "draw/text_width.h"
#include "steps/narrate.h"
#include "steps/walk.h"

namespace attend::steps {
namespace {

// The rows of a matrix, last to first.
Tensor reversed(const Tensor& matrix) {
  const std::int64_t rows = matrix.size(0);
  Tensor result(DType::f64, matrix.shape());
  for (std::int64_t i = 0; i < rows; ++i) {
    copy(matrix.view().select(0, i), result.view().select(0, rows - 1 - i));
  }
  return result;
}

Tensor output_of(const Tensor& x, bool positions) {
  Lesson lesson;
  lesson.x = copy_of(x);
  lesson.sinusoidal_positions = positions;
  return walk("order", lesson).output;
}

BothOrders in_both_orders(const Tensor& x, bool positions) {
  BothOrders both{output_of(x, positions), reversed(output_of(reversed(x), positions)), {}};
  const auto here = both.forwards.values<double>(), there = both.backwards.values<double>();
  both.moved.resize(static_cast<std::size_t>(x.size(0)));
  const std::size_t columns = here.size() / both.moved.size();
  for (std::size_t i = 0; i < here.size(); ++i) {
    double& largest = both.moved[i / columns];
    largest = std::max(largest, std::abs(here[i] - there[i]));
  }
  return both;
}

// Each row as one text, all numbers in columns.
std::vector<std::string> row_texts(const Tensor& matrix) {
  const auto values = matrix.values<double>();
  const draw::NumberFormat format = draw::number_format_for(values);
  std::vector<std::string> numbers, rows(static_cast<std::size_t>(matrix.size(0)));
  int width = 0;
  for (const double value : values) {
    numbers.push_back(draw::format_number(value, format));
    width = std::max(width, draw::text_width(numbers.back()));
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::string& row = rows[i * rows.size() / numbers.size()];
    row.append(row.empty() ? "" : "  ").append(draw::pad_left(numbers[i], width));
  }
  return rows;
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

draw::Table order_table(const char* title, const std::vector<std::string>& tokens, const BothOrders& both) {
  draw::Table table;
  table.title = title;
  table.columns = {{joined_words(tokens), draw::Align::left},
                   {joined_words({tokens.rbegin(), tokens.rend()}), draw::Align::left},
                   {"moved by"}};
  const std::vector<std::string> here = row_texts(both.forwards), there = row_texts(both.backwards);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    table.rows.push_back({tokens[i], {here[i], there[i], draw::format_short(both.moved[i], 4)}});
  }
  return table;
}

}  // namespace

OrderReport measure_order(const Lesson& lesson) {
  return {lesson.tokens, in_both_orders(*lesson.x, false), in_both_orders(*lesson.x, true)};
}

std::vector<draw::Table> order_tables(const OrderReport& report) {
  return {order_table("Without positions", report.tokens, report.without_positions),
          order_table("With positions", report.tokens, report.with_positions)};
}

std::string narrate_order(const OrderReport& report, const draw::Terminal& terminal) {
  draw::Terminal inner = terminal;
  inner.width = terminal.width - 2;
  std::string text =
      draw::heading("Does the order matter?", terminal) +
      draw::indent(draw::paragraph("The output of each token in the sentence and in the reversed "
                                   "sentence, and how far it moved:",
                                   inner),
                   2);
  for (const draw::Table& table : order_tables(report))
    text += draw::indent(draw::render_table(table, inner), 2) + "\n";
  return text;
}

}  // namespace attend::steps
