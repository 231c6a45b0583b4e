// What a training leaves to look at: on the terminal, and as loss.svg, attention.svg and film.svg in its
// folder.
#pragma once

#include <string>

#include "draw/terminal.h"
#include "learn/trainer.h"

namespace attend::app {

// Draws them, and returns what the terminal gets. keep_film: a film.svg that is there stays where not all of
// its frames can be drawn again.
std::string leave_figures(learn::Trainer& trainer, const draw::Terminal& terminal, bool keep_film);

}  // namespace attend::app
