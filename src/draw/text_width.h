// How wide text stands on a terminal. Everything is UTF-8, and every length is in columns, not bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "draw/printable.h"

namespace attend::draw {

// Stands for what was left out.
inline constexpr std::string_view kEllipsis = "…";

// Columns that printable text takes: two for wide characters and emoji, none for combining marks.
int text_width(std::string_view text);

// What a reader would call the characters of printable text: a letter with its accents, one emoji.
std::vector<std::string_view> characters(std::string_view text);

// Blanks added on one side, or on both, up to `width` columns; wider text stays as it is.
std::string pad_left(std::string_view text, int width);
std::string pad_right(std::string_view text, int width);
std::string pad_both(std::string_view text, int width);

// At most `width` columns, cut between characters; what was cut shows as a last "…".
std::string shorten(std::string_view text, int width);

// `text` n times over.
std::string repeat(std::string_view text, int n);

// Every line that is not empty moved `columns` to the right.
std::string indent(std::string_view lines, int columns);

}  // namespace attend::draw
