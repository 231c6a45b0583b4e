// A scene built shape by shape. It grows in every direction to hold what is drawn, so nothing can fall
// outside the page.
#pragma once

#include <string>
#include <vector>

#include "draw/page/scene.h"
#include "draw/page/text_measure.h"

namespace attend::draw {

// What a part of a figure needs to know to be laid out.
struct Sheet {
  const TextMeasure& measure;
  double width = 0;  // the available width
};

inline constexpr double kTitleSize = 15, kPartTitleSize = 12, kLabelSize = 10, kSmallSize = 8.5,
                        kLeastSize = 7.5;

inline constexpr Rgb kBlack{0x1a, 0x1a, 0x1a};  // of text
inline constexpr Rgb kGrey{0x5c, 0x5c, 0x5c};   // of axes and notes
inline constexpr Rgb kHairline{0xb8, 0xb8, 0xb8};
inline constexpr Rgb kFaint{0xe9, 0xe9, 0xe9};  // of grids

// From the middle of a line of text down to its baseline.
inline constexpr double kMiddleToBase = 0.36;

struct Words {
  Font font{kLabelSize};
  Rgb color = kBlack;
  Anchor anchor = Anchor::start;
  double angle = 0;
};

class Drawing {
 public:
  explicit Drawing(const Sheet& sheet) : sheet_(sheet) {}

  const Sheet& sheet() const { return sheet_; }
  double width_of(const std::string& text, Font font) const { return sheet_.measure.width(text, font); }

  // Printable text; if empty, nothing is drawn.
  void text(const std::string& text, Point at, const Words& words);
  void add(Rect rect);
  void add(Line line);
  void add(Path path);
  void add(CellImage image);

  // The title of a part, from (0, 0) downwards; returns where the rest may begin.
  double part_title(const std::string& title);
  // Lines of grey text from `at` downwards, as wide as the sheet; returns where they end.
  double note(const std::string& words, Point at);

  // The scene, with all shapes moved so that it begins at (0, 0).
  Scene finish() &&;

 private:
  void hold(Point point);

  Sheet sheet_;
  std::vector<Shape> shapes_;
  Point low_{0, 0}, high_{0, 0};
};

// Every shape moved.
void move(std::vector<Shape>& shapes, double x, double y);

}  // namespace attend::draw
