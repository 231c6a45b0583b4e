// The explorer as one file: page, style, script and numbers, with a content security policy that allows
// nothing else.
#pragma once

#include <attend/lens_sink.h>

#include <optional>
#include <string>

namespace attend::page {

// The most tokens of a text. With a model of 6 layers × 384, the page is then about 80 MB, which is as much
// as a browser opens comfortably.
inline constexpr std::int64_t kMostTokens = 2048;

// What the page shows first. Layers and heads are numbered from 1.
struct FirstView {
  std::string tab = "map";  // map, lines or model
  bool same_scale = false;  // of all heads
  LensMethod method = LensMethod::raw;
  HeadChoice heads{};
  bool tokens = false;
  bool special = false;
  SinkChoice sink = SinkChoice::automatic;
  std::optional<std::size_t> focus{};  // a word, or a token where tokens are shown
};

// Throws std::invalid_argument for a method that a page cannot compute.
std::string self_contained_page(const Reading& reading, const FirstView& view);

}  // namespace attend::page
