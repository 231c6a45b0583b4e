// The explorer as one file: page, style, script and numbers, and a policy that lets nothing else in.
#pragma once

#include <attend/lens.h>

#include <optional>
#include <string>

namespace attend::page {

// Of a text. A page of so many, by a model of 6 layers × 384, has some 80 MB: about all that a browser opens
// with ease.
inline constexpr std::int64_t kMostTokens = 2048;

// What the page shows first. Heads from 0.
struct FirstView {
  std::string tab = "map";  // map, lines or model
  LensMethod method = LensMethod::raw;
  HeadChoice heads{};
  bool tokens = false;
  bool special = false;
  std::optional<std::size_t> focus{};  // a word, or a token where tokens are shown
};

// Throws std::invalid_argument for a method that a page cannot make.
std::string self_contained_page(const Reading& reading, const FirstView& view);

}  // namespace attend::page
