// Small maps side by side in the terminal: model views and film strips.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "draw/film_strip.h"
#include "draw/model_view.h"
#include "draw/terminal.h"

namespace attend::draw {

// All layers and heads, one line of maps per layer; where not all heads of a layer fit side by side they
// continue on further lines. Throws when sizes do not agree. No line is wider than the terminal.
std::string render_model_view(const ModelView& view, const Terminal& terminal);

// Frames from left to right, in as many lines as needed, with their captions above.
std::string render_film_strip(const FilmStrip& strip, const Terminal& terminal);

}  // namespace attend::draw
