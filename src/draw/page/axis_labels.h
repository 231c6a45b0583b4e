// The names along an axis, as many and in such a form as the distance between them allows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "draw/page/drawing.h"

namespace attend::draw {

struct AxisNames {
  std::vector<std::string> names;         // drawable()
  bool counts = false;                    // they are nothing but numbers
  std::optional<std::size_t> focus = {};  // is always named, and in bold
};

// Of `labels`, or 0, 1, 2, ... where there are none.
AxisNames axis_names(const std::vector<std::string>& labels, std::size_t count,
                     std::optional<std::size_t> focus = {});

enum class LabelForm { level, slanted, upright };

struct AxisLabel {
  std::size_t index = 0;
  std::string text;
};

struct AxisLabels {
  LabelForm form = LabelForm::level;
  double size = kLabelSize;
  std::vector<AxisLabel> labels;  // shortened
  bool thinned = false;           // only some are shown, each with its number
  std::optional<std::size_t> focus = {};

  Font font(std::size_t index) const { return {size, index == focus}; }
};

// Beside rows `pitch` apart; no label is longer than `longest`.
AxisLabels labels_of_rows(const AxisNames& names, double pitch, double longest, const Sheet& sheet);
// Above columns `pitch` apart: level where they fit, else slanted, upright, and at last only some. Slanted
// ones reach beyond the last column, which not every place allows.
enum class Slanted { allowed, never };
AxisLabels labels_of_columns(const AxisNames& names, double pitch, double longest, const Sheet& sheet,
                             Slanted slanted = Slanted::allowed);

// How wide the widest is, before it is turned.
double widest(const AxisLabels& labels, const Sheet& sheet);

// Right of the labels lies x, where the rows begin; the first row begins at y.
void draw_row_labels(Drawing& drawing, const AxisLabels& labels, Point at, double pitch);
// Below the labels lies y. Returns how far up they reach from there.
double draw_column_labels(Drawing& drawing, const AxisLabels& labels, Point at, double pitch);

// Of things in a row `pitch` apart, those with the highest scores that keep `distance` from each other, in
// the order of the row.
std::vector<std::size_t> spaced_choice(std::span<const double> scores, double pitch, double distance);

// The number of a thing and its name: where only some of many are named, a name alone does not say which it
// is.
std::string numbered(std::size_t index, const std::string& name);

}  // namespace attend::draw
