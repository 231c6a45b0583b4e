// The figures of a training run: on the terminal, and as loss.svg, attention.svg and film.svg in its folder.
#pragma once

#include <string>

#include "draw/terminal.h"
#include "learn/trainer.h"

namespace attend::app {

// Writes the files and returns the text for the terminal. keep_film: leaves an existing film.svg in place
// when not all of its frames can be drawn again.
std::string write_training_figures(learn::Trainer& trainer, const draw::Terminal& terminal, bool keep_film);

}  // namespace attend::app
