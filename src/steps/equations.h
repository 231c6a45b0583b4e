// Lines of "label  left = right" with their parts aligned, or, where that is too wide for the terminal, each
// equation broken over several lines. Nothing is ever cut off.
#pragma once

#include <string>
#include <vector>

namespace attend::steps {

// Text in pieces between which a line may be broken: "0.6 × 0.9", "+ 0.5 × 0.8". A piece that is wider than
// the line is broken at its blanks.
using Pieces = std::vector<std::string>;

class Equations {
 public:
  void add(std::string label, Pieces left, Pieces right);

  // The lines, indented by 2, at most `width` columns each, and a blank line. Clears the equations.
  std::string finish(int width);

 private:
  struct Equation {
    std::string label;
    Pieces left, right;
  };
  std::vector<Equation> equations_;
};

}  // namespace attend::steps
