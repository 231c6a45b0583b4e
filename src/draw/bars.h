// A bar chart as data: one value for each label, as in one row of attention.
#pragma once

#include <string>
#include <vector>

namespace attend::draw {

struct Bar {
  std::string label;
  double value = 0;
  bool emphasised = false;
};

struct Bars {
  std::string title;
  std::vector<Bar> bars;
  double full_length = 0;  // the value whose bar fills the available room; 0: the largest value
};

}  // namespace attend::draw
