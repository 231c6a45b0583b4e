// The weights of a lesson as a figure, for files and for the terminal.
#pragma once

#include <cstdint>
#include <optional>

#include "draw/figure.h"
#include "steps/walk.h"

namespace attend::steps {

// The map of one head; masked cells have no value.
draw::Heatmap weights_map(const Lesson& lesson, const Walk& walk, std::int64_t head);

// The map of each head and, for the row in focus, its weights as bars.
draw::Figure lesson_figure(const Lesson& lesson, const Walk& walk, std::optional<std::int64_t> focus);

}  // namespace attend::steps
