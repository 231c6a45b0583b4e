// The labels along an axis: as many, and in whatever form, as the distance between them allows.
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
  bool counts = false;                    // they are just numbers
  std::optional<std::size_t> focus = {};  // always labelled, in bold
};

// From `labels`, or 0, 1, 2, ... where there are none.
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
// Above columns `pitch` apart: horizontal where they fit, otherwise slanted, then vertical, and finally only
// some of them. Slanted labels extend past the last column, which not every place allows.
enum class Slanted { allowed, never };
AxisLabels labels_of_columns(const AxisNames& names, double pitch, double longest, const Sheet& sheet,
                             Slanted slanted = Slanted::allowed);

// The width of the widest label, before it is rotated.
double widest(const AxisLabels& labels, const Sheet& sheet);

// The rows begin at x, to the right of the labels; the first row begins at y.
void draw_row_labels(Drawing& drawing, const AxisLabels& labels, Point at, double pitch);
// The columns begin at y, below the labels. Returns how far up the labels reach from there.
double draw_column_labels(Drawing& drawing, const AxisLabels& labels, Point at, double pitch);

// Of items `pitch` apart, those with the highest scores that are at least `distance` from each other, in
// order.
std::vector<std::size_t> spaced_choice(std::span<const double> scores, double pitch, double distance);

// The number of an item and its name: where only some are labelled, a name alone does not say which one it
// is.
std::string numbered(std::size_t index, const std::string& name);

}  // namespace attend::draw
