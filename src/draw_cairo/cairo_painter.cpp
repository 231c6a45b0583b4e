#include "draw_cairo/cairo_painter.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

namespace attend::draw {
namespace {

struct DestroySurface {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};

struct DestroyPattern {
  void operator()(cairo_pattern_t* pattern) const { cairo_pattern_destroy(pattern); }
};

class Painter {
 public:
  Painter(cairo_t* cairo, PangoText& text, bool vector) : cairo_(cairo), text_(text), vector_(vector) {}

  void operator()(const Rect& rect) const {
    if (rect.radius > 0) {
      round_rect(rect);
    } else {
      Point low = rect.at, high{rect.at.x + rect.width, rect.at.y + rect.height};
      if (!vector_ && std::min(rect.width, rect.height) >= kLeastSnapped) {
        low = on_pixel(low);
        high = on_pixel(high);
      }
      cairo_rectangle(cairo_, low.x, low.y, high.x - low.x, high.y - low.y);
    }
    fill_and_stroke(rect.fill, rect.outline);
  }

  void operator()(const Line& line) const {
    cairo_move_to(cairo_, line.from.x, line.from.y);
    cairo_line_to(cairo_, line.to.x, line.to.y);
    fill_and_stroke({}, line.stroke);
  }

  void operator()(const Path& path) const {
    for (const PathStep& step : path.steps) {
      switch (step.kind) {
        case PathStep::Kind::move:
          cairo_move_to(cairo_, step.to.x, step.to.y);
          break;
        case PathStep::Kind::line:
          cairo_line_to(cairo_, step.to.x, step.to.y);
          break;
        case PathStep::Kind::curve:
          cairo_curve_to(cairo_, step.control_1.x, step.control_1.y, step.control_2.x, step.control_2.y,
                         step.to.x, step.to.y);
          break;
      }
    }
    fill_and_stroke(path.fill, path.outline);
  }

  void operator()(const CellImage& image) const {
    if (image.rows == 0 || image.columns == 0) return;
    const int zoom = vector_ ? zoom_for(image) : 1;
    const int width = static_cast<int>(image.columns) * zoom, height = static_cast<int>(image.rows) * zoom;
    const std::unique_ptr<cairo_surface_t, DestroySurface> surface(
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height));
    if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS)
      return;  // the caller finds the error in cairo_'s status
    fill_pixels(surface.get(), image, zoom);
    const std::unique_ptr<cairo_pattern_t, DestroyPattern> pattern(
        cairo_pattern_create_for_surface(surface.get()));
    cairo_pattern_set_filter(pattern.get(), CAIRO_FILTER_NEAREST);
    const Point at = vector_ ? image.at : on_pixel(image.at);
    cairo_save(cairo_);
    cairo_rectangle(cairo_, at.x, at.y, image.width, image.height);
    cairo_clip(cairo_);
    cairo_translate(cairo_, at.x, at.y);
    cairo_scale(cairo_, image.width / width, image.height / height);
    cairo_set_source(cairo_, pattern.get());
    cairo_paint(cairo_);
    cairo_restore(cairo_);
  }

  void operator()(const Text& text) const { text_.draw(cairo_, text, vector_); }

 private:
  static constexpr double kLeastSnapped =
      3;  // moving a thinner shape by half a pixel would change how heavy it looks

  // The corner of the nearest pixel: on a raster, edges between two pixels look blurred, and cells uneven.
  Point on_pixel(Point point) const {
    cairo_user_to_device(cairo_, &point.x, &point.y);
    point = {std::round(point.x), std::round(point.y)};
    cairo_device_to_user(cairo_, &point.x, &point.y);
    return point;
  }

  // About three pixels per point.
  static int zoom_for(const CellImage& image) {
    const double cell = std::max(image.width / static_cast<double>(image.columns),
                                 image.height / static_cast<double>(image.rows));
    return static_cast<int>(std::clamp(std::ceil(3 * cell), 1.0, 12.0));
  }

  static void fill_pixels(cairo_surface_t* surface, const CellImage& image, int zoom) {
    cairo_surface_flush(surface);
    unsigned char* bytes = cairo_image_surface_get_data(surface);
    const int stride = cairo_image_surface_get_stride(surface);
    for (int y = 0; y < static_cast<int>(image.rows) * zoom; ++y) {
      auto* row = reinterpret_cast<std::uint32_t*>(bytes + static_cast<std::ptrdiff_t>(y) * stride);
      for (int x = 0; x < static_cast<int>(image.columns) * zoom; ++x) {
        const auto cell =
            static_cast<std::size_t>(y / zoom) * image.columns + static_cast<std::size_t>(x / zoom);
        const Rgb color = cell_palette()[image.cells[cell]];
        row[x] = static_cast<std::uint32_t>(color.r << 16 | color.g << 8 | color.b);
      }
    }
    cairo_surface_mark_dirty(surface);
  }

  void round_rect(const Rect& rect) const {
    const double r = rect.radius, right = rect.at.x + rect.width, bottom = rect.at.y + rect.height;
    constexpr double kQuarter = std::numbers::pi / 2;
    cairo_new_sub_path(cairo_);
    cairo_arc(cairo_, right - r, rect.at.y + r, r, -kQuarter, 0);
    cairo_arc(cairo_, right - r, bottom - r, r, 0, kQuarter);
    cairo_arc(cairo_, rect.at.x + r, bottom - r, r, kQuarter, 2 * kQuarter);
    cairo_arc(cairo_, rect.at.x + r, rect.at.y + r, r, 2 * kQuarter, 3 * kQuarter);
    cairo_close_path(cairo_);
  }

  void use(const Ink& ink) const {
    cairo_set_source_rgba(cairo_, ink.color.r / 255.0, ink.color.g / 255.0, ink.color.b / 255.0, ink.opacity);
  }

  void fill_and_stroke(const std::optional<Ink>& fill, const std::optional<Stroke>& outline) const {
    if (fill) {
      use(*fill);
      cairo_fill_preserve(cairo_);
    }
    if (outline) {
      use(outline->ink);
      cairo_set_line_width(cairo_, outline->width);
      cairo_stroke_preserve(cairo_);
    }
    cairo_new_path(cairo_);
  }

  cairo_t* cairo_;
  PangoText& text_;
  bool vector_;
};

}  // namespace

void paint_cairo(cairo_t* cairo, const Scene& scene, PangoText& text, bool vector) {
  cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  const Painter painter(cairo, text, vector);
  for (const Shape& shape : scene.shapes) std::visit(painter, shape);
}

}  // namespace attend::draw
