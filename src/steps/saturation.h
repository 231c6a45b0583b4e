// Why the scores are divided by √d: measures how softmax saturates and its gradient vanishes as d grows, with
// the scale and without.
#pragma once

#include <string>
#include <vector>

#include "draw/plot.h"
#include "draw/terminal.h"

namespace attend::steps {

// Medians over many random queries, each against the same number of random keys, all elements standard
// normal.
struct Saturation {
  double spread = 0;    // standard deviation of the scores of a row
  double largest = 0;   // largest weight of a row
  double gradient = 0;  // size of the gradient through softmax: the Frobenius norm of d weights / d scores
};

struct SaturationRow {
  int d = 0;
  Saturation unscaled, scaled;
};

// d = 4, 8, ..., 4096.
std::vector<SaturationRow> measure_saturation();
// The gradient through softmax over d, without the scale and with it.
draw::Plot saturation_plot(const std::vector<SaturationRow>& rows);
std::string narrate_saturation(const std::vector<SaturationRow>& rows, const draw::Terminal& terminal);

}  // namespace attend::steps
