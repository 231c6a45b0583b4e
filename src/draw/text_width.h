// How wide text is on a terminal. All text is UTF-8, and every length is in columns, not bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "draw/printable.h"

namespace attend::draw {

// Marks an omission.
inline constexpr std::string_view kEllipsis = "…";

// Columns that printable text takes: two for wide characters and emoji, none for combining marks.
int text_width(std::string_view text);

// The characters of printable text as a reader sees them: a letter with its accents, one emoji.
std::vector<std::string_view> characters(std::string_view text);

// Pads with blanks on one side, or on both, to `width` columns; wider text is unchanged.
std::string pad_left(std::string_view text, int width);
std::string pad_right(std::string_view text, int width);
std::string pad_both(std::string_view text, int width);

// At most `width` columns, cut between characters; a cut shows as a final "…".
std::string shorten(std::string_view text, int width);

// `text` repeated n times.
std::string repeat(std::string_view text, int n);

// Every line that is not empty moved `columns` to the right.
std::string indent(std::string_view lines, int columns);

}  // namespace attend::draw
