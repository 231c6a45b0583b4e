// A scene put together shape by shape. It grows to hold what is drawn, in every direction, so nothing can
// stand outside the page.
#pragma once

#include <string>
#include <vector>

#include "draw/page/scene.h"
#include "draw/page/text_measure.h"

namespace attend::draw {

// What a part of a figure has to know to be laid out.
struct Sheet {
  const TextMeasure& measure;
  double width = 0;  // the room across
};

inline constexpr double kTitleSize = 15, kPartTitleSize = 12, kLabelSize = 10, kSmallSize = 8.5,
                        kLeastSize = 7.5;

inline constexpr Rgb kBlack{0x1a, 0x1a, 0x1a};  // of text
inline constexpr Rgb kGrey{0x5c, 0x5c, 0x5c};   // of what explains the rest: axes, notes
inline constexpr Rgb kHairline{0xb8, 0xb8, 0xb8};
inline constexpr Rgb kFaint{0xe9, 0xe9, 0xe9};  // of grids

// Down from the middle of a line of text to its base line.
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

  // Printable text; an empty one is nothing.
  void text(const std::string& text, Point at, const Words& words);
  void add(Rect rect);
  void add(Line line);
  void add(Path path);
  void add(CellImage image);

  // The title of a part at (0, 0) and downwards; returns where what follows may begin.
  double part_title(const std::string& title);
  // Lines of grey text from `at` downwards, as wide as the sheet; returns where they end.
  double note(const std::string& words, Point at);

  // All shapes moved so that the drawing begins at (0, 0).
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
