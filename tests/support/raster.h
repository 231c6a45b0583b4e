// Pictures compared as an eye would: both softened a little, then the distance of their colours.
#pragma once

#include <cairo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "draw/color.h"

namespace attend::draw {

struct Raster {
  int width = 0, height = 0;
  std::vector<Rgb> pixels;
  Rgb at(int x, int y) const { return pixels[static_cast<std::size_t>(y * width + x)]; }
};

// 0 x 0 when it is no PNG.
inline Raster decoded(std::string_view png) {
  cairo_surface_t* surface = cairo_image_surface_create_from_png_stream(
      [](void* rest, unsigned char* data, unsigned length) {
        auto& bytes = *static_cast<std::string_view*>(rest);
        if (length > bytes.size()) return CAIRO_STATUS_READ_ERROR;
        std::memcpy(data, bytes.data(), length);
        bytes.remove_prefix(length);
        return CAIRO_STATUS_SUCCESS;
      },
      &png);
  Raster raster;
  if (cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS) {
    raster.width = cairo_image_surface_get_width(surface);
    raster.height = cairo_image_surface_get_height(surface);
    for (int y = 0; y < raster.height; ++y) {
      const unsigned char* row = cairo_image_surface_get_data(surface) +
                                 static_cast<std::ptrdiff_t>(y) * cairo_image_surface_get_stride(surface);
      for (int x = 0; x < raster.width; ++x) {
        std::uint32_t pixel = 0;
        std::memcpy(&pixel, row + 4 * x, 4);
        raster.pixels.push_back({static_cast<std::uint8_t>(pixel >> 16),
                                 static_cast<std::uint8_t>(pixel >> 8), static_cast<std::uint8_t>(pixel)});
      }
    }
  }
  cairo_surface_destroy(surface);
  return raster;
}

// The share of squares of 4 x 4 pixels whose mean colours differ by more than a twentieth of black to white;
// 1 when the sizes differ by more than a hundredth.
inline double difference(const Raster& a, const Raster& b) {
  const auto close = [](int x, int y) { return std::abs(x - y) <= std::max(x, y) / 100 + 1; };
  if (!close(a.width, b.width) || !close(a.height, b.height)) return 1;
  constexpr int kSquare = 4;
  int squares = 0, different = 0;
  const auto mean = [](const Raster& raster, int x0, int y0) {
    double r = 0, g = 0, blue = 0;
    for (int y = y0; y < y0 + kSquare; ++y) {
      for (int x = x0; x < x0 + kSquare; ++x) {
        const Rgb color = raster.at(x, y);
        r += color.r, g += color.g, blue += color.b;
      }
    }
    const double all = 255.0 * kSquare * kSquare;
    return std::array<double, 3>{r / all, g / all, blue / all};
  };
  for (int y = 0; y + kSquare <= std::min(a.height, b.height); y += kSquare) {
    for (int x = 0; x + kSquare <= std::min(a.width, b.width); x += kSquare) {
      const auto one = mean(a, x, y), two = mean(b, x, y);
      double distance = 0;
      for (std::size_t i = 0; i < 3; ++i) distance = std::max(distance, std::abs(one[i] - two[i]));
      different += distance > 0.05 ? 1 : 0;
      ++squares;
    }
  }
  return squares == 0 ? 0 : static_cast<double>(different) / squares;
}

}  // namespace attend::draw
