#include "draw_cairo/page_format.h"

#include <algorithm>
#include <string>

namespace attend::draw {

std::optional<PageFormat> page_format_of(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
  });
  if (extension == ".svg") return PageFormat::svg;
  if (extension == ".png") return PageFormat::png;
  if (extension == ".pdf") return PageFormat::pdf;
  return {};
}

}  // namespace attend::draw
