// One more evaluation inside others, and the line that it is at.
#pragma once

#include <exception>

#include "chat/evaluator.h"

namespace attend::chat {

struct Evaluator::Level {
  Level(Evaluator& evaluator, int line) : evaluator_(evaluator), outer_(evaluator.line_) {
    if (evaluator.depth_ >= kDeepestEvaluation) fail("calls itself too deep");
    ++evaluator.depth_;
    evaluator.line_ = line;
  }
  ~Level() {
    --evaluator_.depth_;
    if (std::uncaught_exceptions() == 0) evaluator_.line_ = outer_;  // a failure keeps its line
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Evaluator& evaluator_;
  const int outer_;
};

}  // namespace attend::chat
