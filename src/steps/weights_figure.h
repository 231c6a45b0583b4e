// The weights of a lesson as a figure, for the page and for the terminal.
#pragma once

#include <cstdint>
#include <optional>

#include "draw/figure.h"
#include "steps/walk.h"

namespace attend::steps {

// The map of one head; what the mask hides has no value.
draw::Heatmap weights_map(const Lesson& lesson, const Walk& walk, std::int64_t head);

// The map of each head and, of the row that is looked at closely, its weights as bars.
draw::Figure lesson_figure(const Lesson& lesson, const Walk& walk, std::optional<std::int64_t> focus);

}  // namespace attend::steps
