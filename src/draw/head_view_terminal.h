// A head view in the terminal. Lines between two columns could not be told apart there, so each token on the
// left gets a line listing what it attends to, strongest first; with a focus, that token's links are shown as
// bars.
#pragma once

#include <cstddef>
#include <string>

#include "draw/head_view.h"
#include "draw/terminal.h"

namespace attend::draw {

// Throws when a link names a token that does not exist. No line is wider than the terminal. Beyond
// `most_rows` the tokens in the middle are omitted, and a line says so.
std::string render_head_view(const HeadView& view, const Terminal& terminal, std::size_t most_rows = 60);

}  // namespace attend::draw
