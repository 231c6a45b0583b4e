#include "app/train_progress.h"

#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "draw/number.h"
#include "draw/plot_terminal.h"
#include "learn/run_figures.h"

namespace attend::app {
namespace {

constexpr int kCurveLines = 8;      // between the ends of its axis
constexpr int kRowsForACurve = 20;  // of the terminal
constexpr std::size_t kStepsForACurve = 8;

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::string bar_of(const learn::StepReport& report) {
  constexpr int kWidth = 24;
  const auto full = static_cast<int>(kWidth * report.step / report.steps);
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < full ? "█" : "░";
  return joined(bar, " ", report.step, "/", report.steps, "  loss ",
                draw::format_number(report.loss, {.decimals = 4}), "  ",
                draw::format_number(report.tokens_per_second, {.decimals = 0}), " tokens/s  ",
                duration(report.seconds_left), " left");
}

}  // namespace

TrainProgress::TrainProgress(const learn::Trainer& trainer, draw::ColorChoice color)
    : trainer_(trainer), terminal_(draw::detect_terminal(STDERR_FILENO, color)) {}

void TrainProgress::draw_curve() {
  const auto now = std::chrono::steady_clock::now();
  if (line_.rows() < kRowsForACurve || trainer_.losses().size() < kStepsForACurve) return;
  if (now - drawn_ < std::chrono::milliseconds(500)) return;
  drawn_ = now;
  curve_ = draw::render_plot(learn::loss_plot(trainer_), terminal_, kCurveLines);
}

void TrainProgress::show(const learn::StepReport& report) {
  if (!line_.due()) return;
  draw_curve();
  line_.show(curve_ + bar_of(report));
}

}  // namespace attend::app
