// Writes a figure in the format that the command line asks for.
#pragma once

#include <set>
#include <string>

#include "draw/figure.h"

namespace attend::app {

// "figure" is its description as JSON.
inline const std::set<std::string> kFigureFormats = {"figure", "svg", "png", "pdf"};

// To a file, or to standard output if the name is empty (svg and figure only). Reports on standard error what
// could not be drawn.
void write_figure(const draw::Figure& figure, const std::string& format, const std::string& file);

// Writes a text to a file atomically, or to standard output if the name is empty.
void write_text(const std::string& text, const std::string& file);
// The same for text that draw rendered for a terminal.
void write_rendered(const std::string& text, const std::string& file);

// The extension of a file name, without the dot.
std::string extension_of(const std::string& file);

}  // namespace attend::app
