// Whether texts on a page touch each other, turned ones too.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "draw/page/scene.h"

namespace attend::draw {

using Quad = std::array<Point, 4>;

inline std::vector<Text> texts_of(const Scene& scene) {
  std::vector<Text> texts;
  for (const Shape& shape : scene.shapes) {
    if (const auto* text = std::get_if<Text>(&shape)) texts.push_back(*text);
  }
  return texts;
}

inline bool has_text(const Scene& scene, const std::string& words) {
  const auto texts = texts_of(scene);
  return std::any_of(texts.begin(), texts.end(), [&](const Text& text) { return text.text == words; });
}

// Two convex shapes are apart when an edge of one of them has the other on its far side.
inline bool apart(const Quad& a, const Quad& b) {
  for (const Quad* quad : {&a, &b}) {
    for (std::size_t i = 0; i < 4; ++i) {
      const Point from = (*quad)[i], to = (*quad)[(i + 1) % 4];
      const Point normal{to.y - from.y, from.x - to.x};
      const auto along = [&](Point point) { return point.x * normal.x + point.y * normal.y; };
      const auto reach = [&](const Quad& of) {
        const auto [low, high] = std::minmax({along(of[0]), along(of[1]), along(of[2]), along(of[3])});
        return std::pair(low, high);
      };
      const auto [a_low, a_high] = reach(a);
      const auto [b_low, b_high] = reach(b);
      constexpr double kSlack = 1e-6;
      if (a_high <= b_low + kSlack || b_high <= a_low + kSlack) return true;
    }
  }
  return false;
}

// Two texts that touch, or nothing.
inline std::string touching_texts(const Scene& scene) {
  const auto texts = texts_of(scene);
  std::vector<Quad> quads;
  for (const Text& text : texts) quads.push_back(corners_of(text));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (!apart(quads[i], quads[k])) return "“" + texts[i].text + "” and “" + texts[k].text + "”";
    }
  }
  return {};
}

// A text that reaches over the edge of the page, or nothing.
inline std::string text_off_the_page(const Scene& scene) {
  for (const Text& text : texts_of(scene)) {
    for (const Point corner : corners_of(text)) {
      if (corner.x < 0 || corner.y < 0 || corner.x > scene.width || corner.y > scene.height) return text.text;
    }
  }
  return {};
}

}  // namespace attend::draw
