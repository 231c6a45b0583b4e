// A page as a list of shapes: where everything is, independent of any file format. Lengths are in points of
// 1/72 inch for PDF, in CSS pixels for SVG; y grows downwards. Later shapes cover earlier ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "draw/color.h"

namespace attend::draw {

struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

struct Ink {
  Rgb color;
  double opacity = 1;
};

struct Stroke {
  Ink ink;
  double width = 1;
};

struct Rect {
  Point at;  // its upper left corner
  double width = 0, height = 0;
  std::optional<Ink> fill = {};
  std::optional<Stroke> outline = {};
  double radius = 0;  // of its corners
};

struct Line {
  Point from, to;
  Stroke stroke;
};

struct PathStep {
  enum class Kind { move, line, curve };
  Kind kind = Kind::move;
  Point to;
  Point control_1 = {}, control_2 = {};  // of a cubic curve
};

struct Path {
  std::vector<PathStep> steps;
  std::optional<Ink> fill = {};
  std::optional<Stroke> outline = {};
};

// Adjacent cells of equal size, as indices into cell_palette(). Drawn as one image: cells drawn one by one
// show seams between them, and 400 x 400 of them make a file that viewers are slow to open.
struct CellImage {
  Point at;
  double width = 0, height = 0;
  std::size_t columns = 0, rows = 0;
  std::vector<std::uint8_t> cells;  // (rows, columns), row-major
};

struct Font {
  double size = 10;
  bool bold = false;
};

enum class Anchor { start, middle, end };

struct Text {
  std::string text;  // printable()
  Point at;          // on the baseline: its left end, its middle or its right end
  Anchor anchor = Anchor::start;
  double angle = 0;  // degrees, clockwise, around `at`
  Font font;
  Ink ink;
  double width = 0;  // as it was measured
};

using Shape = std::variant<Rect, Line, Path, CellImage, Text>;

struct Scene {
  std::string title;  // for screen readers; may be empty
  double width = 0, height = 0;
  std::vector<Shape> shapes;
};

// The corners of the box around a text, in order.
std::array<Point, 4> corners_of(const Text& text);

// How far letters reach above and below the baseline, in font sizes.
inline constexpr double kAscent = 0.93, kDescent = 0.24;

// What a cell of an image may be: a step of the scale, masked, or not a number.
inline constexpr std::uint8_t kLastStep = 253, kMaskedCell = 254, kNanCell = 255;
const std::array<Rgb, 256>& cell_palette();

// The cell for a position on the scale in [0, 1], or for NaN.
std::uint8_t cell_at(double place);

}  // namespace attend::draw
