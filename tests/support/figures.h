// Figures to draw in tests: tokens of some script, and weights that look like attention.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "draw/figure.h"

namespace attend::draw {

inline std::vector<std::string> english_tokens(std::size_t n) {
  const std::vector<std::string> words{"The", "animal", "didn't", "cross", "the", "street",   "because",
                                       "it",  "was",    "too",    "tired", ".",   "##ization"};
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < n; ++i) tokens.push_back(words[i % words.size()]);
  return tokens;
}

inline std::vector<std::string> chinese_tokens(std::size_t n) {
  const std::vector<std::string> words{"那",   "只", "动物", "没有", "过", "马路", "，",
                                       "因为", "它", "太",   "累",   "了", "。"};
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < n; ++i) tokens.push_back(words[i % words.size()]);
  return tokens;
}

inline std::vector<std::string> arabic_tokens(std::size_t n) {
  const std::vector<std::string> words{"لم",  "يعبر",  "الحيوان", "الشارع", "لأنه",
                                       "كان", "متعبا", "جدا",     ".",      "واستراح"};
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < n; ++i) tokens.push_back(words[i % words.size()]);
  return tokens;
}

// Rows that sum to 1: a band around an offset, a sink at the first token, and a few far links.
inline std::vector<double> attention_like(std::size_t rows, std::size_t columns, int offset) {
  std::vector<double> weights(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const double from_band = static_cast<double>(j) - static_cast<double>(i) - offset;
      const bool far = (i * 7 + j * 13) % 41 == 0;
      const double score = -0.5 * from_band * from_band / 2.0;
      weights[i * columns + j] = std::exp(score) + (j == 0 ? 0.5 : 0.002) + (far ? 0.35 : 0);
      sum += weights[i * columns + j];
    }
    for (std::size_t j = 0; j < columns; ++j) weights[i * columns + j] /= sum;
  }
  return weights;
}

inline Heatmap heatmap_of(const std::vector<std::string>& tokens, int offset = -1) {
  Heatmap map;
  map.title = "Weights";
  map.rows = map.columns = tokens.size();
  map.row_labels = map.column_labels = tokens;
  map.values = attention_like(tokens.size(), tokens.size(), offset);
  map.range = {0, range_of(map).high};
  map.row_title = "query";
  map.column_title = "key";
  map.value_label = "weight";
  return map;
}

inline HeadView head_view_of(const std::vector<std::string>& tokens, std::size_t strongest = 3) {
  HeadView view;
  view.title = "Head 3 of layer 4";
  view.left_title = "from";
  view.right_title = "to";
  view.left = view.right = tokens;
  view.links = strongest_links(attention_like(tokens.size(), tokens.size(), -1), tokens.size(), strongest);
  view.strongest = strongest;
  return view;
}

inline ModelView model_view_of(std::size_t layers, std::size_t heads, std::size_t n) {
  ModelView view;
  view.title = "All heads";
  view.layers = layers;
  view.heads = heads;
  for (std::size_t i = 0; i < layers * heads; ++i) {
    Heatmap map;
    map.rows = map.columns = n;
    map.values = attention_like(n, n, static_cast<int>(i % 7) - 3);
    view.maps.push_back(map);
  }
  return view;
}

inline Bars bars_of(const std::vector<std::string>& tokens) {
  Bars bars;
  bars.title = "Received";
  const std::vector<double> weights = attention_like(1, tokens.size(), 2);
  for (std::size_t i = 0; i < tokens.size(); ++i) bars.bars.push_back({tokens[i], weights[i], i == 2});
  return bars;
}

inline Table table_of(const std::vector<std::string>& tokens) {
  Table table;
  table.title = "What each head does";
  table.label_header = "token";
  table.columns = {{"head"}, {"weight"}, {"habit", Align::left}};
  for (std::size_t i = 0; i < std::min<std::size_t>(tokens.size(), 60); ++i)
    table.rows.push_back({tokens[i], {std::to_string(i + 1), "12%", tokens[tokens.size() - 1 - i]}});
  return table;
}

inline Plot layer_curve() {
  Plot plot;
  plot.title = "Entropy by layer";
  plot.x.label = "layer";
  plot.y.label = "bits";
  plot.series = {{"mean of all heads", {0, 1, 2, 3, 4, 5}, {3.1, 2.9, 2.4, 2.2, 2.35, 1.9}},
                 {"head 3", {0, 1, 2, 3, 4, 5}, {2.1, 2.0, 0.8, 0.6, 1.4, 1.1}}};
  return plot;
}

inline FilmStrip film_strip_of(const std::vector<std::string>& tokens, std::size_t frames) {
  FilmStrip strip;
  strip.title = "Layer by layer";
  strip.value_label = "weight";
  for (std::size_t i = 0; i < frames; ++i) {
    strip.frames.push_back(heatmap_of(tokens, static_cast<int>(i) - 2));
    strip.frames.back().title = "layer " + std::to_string(i);
  }
  return strip;
}

inline Figure everything(const std::vector<std::string>& tokens) {
  Figure figure;
  figure.title = "What “it” looks at";
  figure.parts = {heatmap_of(tokens), head_view_of(tokens),     model_view_of(3, 4, tokens.size()),
                  bars_of(tokens),    film_strip_of(tokens, 4), layer_curve(),
                  table_of(tokens)};
  figure.notes = {"Attention weights are not by themselves an explanation."};
  return figure;
}

// Labels that nobody should have to fear: controls, reordering, markup, bytes that are no text.
inline std::vector<std::string> hostile_labels() {
  return {std::string("\0nul", 4),
          "\x1b[2J\x07\r\n\t",
          "\u202Eoverride\u2066",
          "<script>alert(\"1\")</script>&amp;]]>",
          "\xff\xfe not utf-8 \xc3",
          std::string(10'000, 'w'),
          "\uFFFE\uFFFF",
          "ﷺ e\u0301\u0301\u0301\u0301\u0301",
          "👩‍👩‍👧‍👦",
          ""};
}

}  // namespace attend::draw
