// A figure as the command line asks for it.
#pragma once

#include <set>
#include <string>

#include "draw/figure.h"

namespace attend::app {

// "figure" is its description as JSON.
inline const std::set<std::string> kFigureFormats = {"figure", "svg", "png", "pdf"};

// Into a file, or to standard output where the name is empty, which svg and figure may be written to. What
// could not be drawn is said on standard error.
void write_figure(const draw::Figure& figure, const std::string& format, const std::string& file);

// A text into a file that is there complete or not at all, or to standard output where the name is empty.
void write_text(const std::string& text, const std::string& file);
// The same for what draw rendered for a terminal.
void write_rendered(const std::string& text, const std::string& file);

// The extension of a file's name, without its dot.
std::string extension_of(const std::string& file);

}  // namespace attend::app
