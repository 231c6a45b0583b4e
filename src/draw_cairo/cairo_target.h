// A Cairo surface that writes into a string.
#pragma once

#include <cairo.h>

#include <string>

#include "draw/page/scene.h"
#include "draw_cairo/page_format.h"

namespace attend::draw {

class CairoTarget {
 public:
  // Throws when the page at this scale is larger than Cairo can draw.
  CairoTarget(const Scene& scene, PageFormat format, double scale);
  CairoTarget(const CairoTarget&) = delete;
  CairoTarget& operator=(const CairoTarget&) = delete;
  ~CairoTarget();

  cairo_t* cairo() { return cairo_; }

  // The bytes of the file. Nothing can be drawn afterwards. Throws std::runtime_error if Cairo failed.
  std::string finish();

 private:
  PageFormat format_;
  std::string bytes_;
  cairo_surface_t* surface_ = nullptr;
  cairo_t* cairo_ = nullptr;
};

}  // namespace attend::draw
