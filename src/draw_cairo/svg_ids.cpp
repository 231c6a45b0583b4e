#include "draw_cairo/svg_ids.h"

#include <map>
#include <utility>

namespace attend::draw {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz-";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kImage = "<image ";

// Where a name begins after `at`, if there is an id or a reference to one: id="clip7", "#clip7", (#clip7).
std::size_t name_after(std::string_view svg, std::size_t at) {
  for (const std::string_view before :
       {std::string_view(" id=\""), std::string_view("\"#"), std::string_view("(#")}) {
    if (svg.substr(at, before.size()) == before) return at + before.size();
  }
  return std::string_view::npos;
}

// Whether the image that begins at `at` is opaque: those are the cells of maps, the others are emoji. Byte 25
// of a PNG is its colour type, and "CAIA" is 8 bits, RGB, in base64.
bool holds_cells(std::string_view svg, std::size_t at) {
  constexpr std::string_view kData = "base64,";
  const std::size_t data = svg.find(kData, at);
  return data != std::string_view::npos && svg.substr(data + kData.size() + 32, 4) == "CAIA";
}

}  // namespace

std::string with_own_ids(std::string_view svg) {
  std::string text;
  text.reserve(svg.size() + svg.size() / 64);
  std::map<std::pair<std::string, std::string>, std::size_t> ids;  // of a kind and Cairo's number
  std::map<std::string, std::size_t> counts;                       // of a kind
  std::size_t copied = 0;
  for (std::size_t at = 0; at < svg.size(); ++at) {
    if (svg.substr(at, kImage.size()) == kImage && holds_cells(svg, at)) {
      text.append(svg.substr(copied, at + kImage.size() - copied))
          .append("style=\"image-rendering:pixelated\" ");
      copied = at + kImage.size();
      continue;
    }
    const std::size_t name = name_after(svg, at);
    if (name == std::string_view::npos) continue;
    const std::size_t number = svg.find_first_not_of(kLetters, name);
    const std::size_t end = svg.find_first_not_of(kDigits, number);
    if (number == std::string_view::npos || end == std::string_view::npos || number == name || end == number)
      continue;
    const std::string kind(svg.substr(name, number - name)), theirs(svg.substr(number, end - number));
    const auto [found, is_new] = ids.try_emplace({kind, theirs}, counts[kind]);
    if (is_new) ++counts[kind];
    text.append(svg.substr(copied, number - copied)).append(std::to_string(found->second));
    copied = end;
    at = end - 1;
  }
  return text.append(svg.substr(copied));
}

}  // namespace attend::draw
