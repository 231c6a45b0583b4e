#include "draw/page/svg.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "draw/page/png.h"
#include "io/base64.h"

namespace attend::draw {
namespace {

constexpr const char* kFamilies = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

// Two decimals: a hundredth of a pixel is finer than the eye.
std::string number(double value) {
  std::array<char, 400> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, 2);
  std::string text(buffer.data(), end.ptr);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + number(value) + "\"";
}

std::string color_code(Rgb color) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string code = "#";
  for (const unsigned channel : {color.r, color.g, color.b}) {
    code += kDigits[channel / 16];
    code += kDigits[channel % 16];
  }
  return code;
}

// Text is printable() already: it has no control characters, nor anything else that XML does not allow.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char byte : text) {
    switch (byte) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += byte;
    }
  }
  return safe;
}

std::string fill_of(const std::optional<Ink>& ink) {
  if (!ink) return " fill=\"none\"";
  std::string text = " fill=\"" + color_code(ink->color) + "\"";
  return ink->opacity < 1 ? text + attribute("fill-opacity", ink->opacity) : text;
}

std::string stroke_of(const std::optional<Stroke>& stroke) {
  if (!stroke) return {};
  std::string text =
      " stroke=\"" + color_code(stroke->ink.color) + "\"" + attribute("stroke-width", stroke->width);
  return stroke->ink.opacity < 1 ? text + attribute("stroke-opacity", stroke->ink.opacity) : text;
}

struct SvgWriter {
  std::string& svg;

  void operator()(const Rect& rect) const {
    svg += "<rect" + attribute("x", rect.at.x) + attribute("y", rect.at.y) + attribute("width", rect.width) +
           attribute("height", rect.height);
    if (rect.radius > 0) svg += attribute("rx", rect.radius);
    svg += fill_of(rect.fill) + stroke_of(rect.outline) + "/>\n";
  }

  void operator()(const Line& line) const {
    svg += "<line" + attribute("x1", line.from.x) + attribute("y1", line.from.y) +
           attribute("x2", line.to.x) + attribute("y2", line.to.y) + stroke_of(line.stroke) + "/>\n";
  }

  void operator()(const Path& path) const {
    const auto pair = [](Point point) { return number(point.x) + " " + number(point.y); };
    std::string data;
    for (const PathStep& step : path.steps) {
      switch (step.kind) {
        case PathStep::Kind::move:
          data += "M" + pair(step.to);
          break;
        case PathStep::Kind::line:
          data += "L" + pair(step.to);
          break;
        case PathStep::Kind::curve:
          data += "C" + pair(step.control_1) + " " + pair(step.control_2) + " " + pair(step.to);
          break;
      }
    }
    svg += "<path d=\"" + data + "\"" + fill_of(path.fill) + stroke_of(path.outline) + "/>\n";
  }

  void operator()(const CellImage& image) const {
    svg += "<image" + attribute("x", image.at.x) + attribute("y", image.at.y) +
           attribute("width", image.width) + attribute("height", image.height) +
           " preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64," +
           io::to_base64(cells_png(image)) + "\"/>\n";
  }

  void operator()(const Text& text) const {
    svg += "<text" + attribute("x", text.at.x) + attribute("y", text.at.y) +
           attribute("font-size", text.font.size) + fill_of(text.ink);
    if (text.font.bold) svg += " font-weight=\"bold\"";
    if (text.anchor == Anchor::middle) svg += " text-anchor=\"middle\"";
    if (text.anchor == Anchor::end) svg += " text-anchor=\"end\"";
    if (text.angle != 0) {
      svg += " transform=\"rotate(" + number(text.angle) + " " + number(text.at.x) + " " + number(text.at.y) +
             ")\"";
    }
    svg += ">" + escaped(text.text) + "</text>\n";
  }
};

}  // namespace

std::string paint_svg(const Scene& scene) {
  const std::string width = number(scene.width), height = number(scene.height);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
                    "\" viewBox=\"0 0 " + width + " " + height + "\" role=\"img\" font-family=\"" +
                    kFamilies + "\" xml:space=\"preserve\">\n";
  if (!scene.title.empty()) svg += "<title>" + escaped(scene.title) + "</title>\n";
  for (const Shape& shape : scene.shapes) std::visit(SvgWriter{svg}, shape);
  return svg + "</svg>\n";
}

std::string figure_svg(const Figure& figure, const PageOptions& options) {
  return paint_svg(layout(figure, UsualFonts(), options));
}

}  // namespace attend::draw
