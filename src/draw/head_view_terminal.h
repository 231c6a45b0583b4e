// A head view in the terminal. Lines between two columns cannot be told apart there, so each token on the
// left has a line with what it looks at, strongest first; with a focus, that token's links as bars.
#pragma once

#include <cstddef>
#include <string>

#include "draw/head_view.h"
#include "draw/terminal.h"

namespace attend::draw {

// Throws when a link names a token that is not there. No line is wider than the terminal. Beyond `most_rows`
// the tokens of the middle are left out, and a line says so.
std::string render_head_view(const HeadView& view, const Terminal& terminal, std::size_t most_rows = 60);

}  // namespace attend::draw
