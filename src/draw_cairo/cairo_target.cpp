#include "draw_cairo/cairo_target.h"

#include <cairo-pdf.h>

#include <cmath>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/error.h"

namespace attend::draw {
namespace {

constexpr double kMostPixels = 32767;       // Cairo's own limit, in each direction
constexpr double kMostPixelsInAll = 2.5e8;  // a gigabyte
constexpr double kPointsPerPixel = 0.75;    // PDF counts in points, the page in CSS pixels

// Called from C: an exception must not pass through it.
cairo_status_t append(void* bytes, const unsigned char* data, unsigned length) noexcept {
  try {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
  } catch (const std::bad_alloc&) {
    return CAIRO_STATUS_NO_MEMORY;
  }
}

void expect_success(cairo_status_t status) {
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  if (status != CAIRO_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("[figure] Cairo could not draw it: ") +
                             cairo_status_to_string(status));
  }
}

}  // namespace

CairoTarget::CairoTarget(const Scene& scene, PageFormat format, double scale) : format_(format) {
  const double width = std::ceil(scene.width * scale), height = std::ceil(scene.height * scale);
  switch (format) {
    case PageFormat::png:
      if (width > kMostPixels || height > kMostPixels || width * height > kMostPixelsInAll) {
        refuse("figure", "a PNG of ", width, " x ", height,
               " pixels is too large; a smaller scale or SVG will do");
      }
      surface_ =
          cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height));
      cairo_ = cairo_create(surface_);
      cairo_scale(cairo_, scale, scale);
      break;
    case PageFormat::pdf:
      surface_ = cairo_pdf_surface_create_for_stream(append, &bytes_, scene.width * kPointsPerPixel,
                                                     scene.height * kPointsPerPixel);
      // The creation date would be the only thing that differs between two runs.
      cairo_pdf_surface_set_metadata(surface_, CAIRO_PDF_METADATA_CREATE_DATE, "1970-01-01T00:00:00Z");
      if (!scene.title.empty())
        cairo_pdf_surface_set_metadata(surface_, CAIRO_PDF_METADATA_TITLE, scene.title.c_str());
      cairo_ = cairo_create(surface_);
      cairo_scale(cairo_, kPointsPerPixel, kPointsPerPixel);
      break;
    case PageFormat::svg:
      throw std::logic_error("[figure] SVG is not written by Cairo");
  }
}

CairoTarget::~CairoTarget() {
  cairo_destroy(cairo_);
  cairo_surface_destroy(surface_);
}

std::string CairoTarget::finish() {
  expect_success(cairo_status(cairo_));
  if (format_ == PageFormat::png) {
    cairo_surface_flush(surface_);
    expect_success(cairo_surface_write_to_png_stream(surface_, append, &bytes_));
  } else {
    cairo_show_page(cairo_);
    cairo_surface_finish(surface_);
    expect_success(cairo_surface_status(surface_));
  }
  return std::move(bytes_);
}

}  // namespace attend::draw
