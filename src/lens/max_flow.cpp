#include "lens/max_flow.h"

#include <algorithm>
#include <limits>

#include "base/interrupt.h"

namespace attend::lens {
namespace {

// Anything less is rounding, not capacity: weights are shares of 1 in f32.
constexpr double kNothing = 1e-12;

}  // namespace

void FlowNetwork::add_pipe(std::int32_t from, std::int32_t to, double capacity) {
  const auto add = [&](std::int32_t a, std::int32_t b, double size) {
    pipes_.push_back({b, first_[static_cast<std::size_t>(a)], size, size});
    first_[static_cast<std::size_t>(a)] = static_cast<std::int32_t>(pipes_.size()) - 1;
  };
  add(from, to, capacity);
  add(to, from, 0);
}

double FlowNetwork::max_flow(std::int32_t source, std::int32_t sink) {
  for (Pipe& pipe : pipes_) pipe.left = pipe.capacity;
  double total = 0;
  while (find_levels(source, sink)) {
    interruption_point();
    current_ = first_;
    for (;;) {
      const double pushed = push(source, sink, std::numeric_limits<double>::infinity());
      if (pushed <= kNothing) break;
      total += pushed;
    }
  }
  return total;
}

bool FlowNetwork::find_levels(std::int32_t source, std::int32_t sink) {
  level_.assign(first_.size(), -1);
  level_[static_cast<std::size_t>(source)] = 0;
  queue_.assign(1, source);
  for (std::size_t at = 0; at < queue_.size(); ++at) {
    const auto node = static_cast<std::size_t>(queue_[at]);
    for (std::int32_t p = first_[node]; p >= 0; p = pipes_[static_cast<std::size_t>(p)].next) {
      const Pipe& pipe = pipes_[static_cast<std::size_t>(p)];
      std::int32_t& level = level_[static_cast<std::size_t>(pipe.to)];
      if (level >= 0 || pipe.left <= kNothing) continue;
      level = level_[node] + 1;
      queue_.push_back(pipe.to);
    }
  }
  return level_[static_cast<std::size_t>(sink)] >= 0;
}

// The recursion is as deep as there are layers: each step goes one level up.
double FlowNetwork::push(std::int32_t node, std::int32_t sink, double most) {
  if (node == sink) return most;
  const auto here = static_cast<std::size_t>(node);
  double pushed = 0;
  for (std::int32_t& p = current_[here]; p >= 0; p = pipes_[static_cast<std::size_t>(p)].next) {
    Pipe& pipe = pipes_[static_cast<std::size_t>(p)];
    if (pipe.left <= kNothing || level_[static_cast<std::size_t>(pipe.to)] != level_[here] + 1) continue;
    const double through = push(pipe.to, sink, std::min(most - pushed, pipe.left));
    if (through <= kNothing) continue;
    pipe.left -= through;
    pipes_[static_cast<std::size_t>(p) ^ 1].left += through;
    pushed += through;
    if (most - pushed <= kNothing) return pushed;  // the pipe may have room left: stay at it
  }
  return pushed;
}

}  // namespace attend::lens
