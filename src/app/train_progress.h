// The status display during training: a progress bar, the loss, the speed and the time left; and the curve so
// far.
#pragma once

#include <chrono>
#include <string>

#include "app/status_line.h"
#include "draw/terminal.h"
#include "learn/trainer.h"

namespace attend::app {

class TrainProgress {
 public:
  // The curve needs a terminal that is tall enough for it.
  TrainProgress(const learn::Trainer& trainer, draw::ColorChoice color);

  void show(const learn::StepReport& report);
  void clear() { line_.clear(); }

 private:
  void draw_curve();

  const learn::Trainer& trainer_;
  draw::Terminal terminal_;
  StatusLine line_;
  std::string curve_;  // lines above the bar; redrawn at most twice a second
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace attend::app
