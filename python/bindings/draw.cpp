// FigureCore: figures as data, behind attend.draw.
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "draw/figure_json.h"
#include "draw/figure_terminal.h"
#include "draw/page/svg.h"
#include "errors.h"
#include "figure.h"
#include "save/output_file.h"

namespace attend_python {
namespace {

namespace nb = nanobind;
namespace draw = attend::draw;

using Labels = std::vector<std::string>;
template <int Axes>
using Values = nb::ndarray<const double, nb::ndim<Axes>, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr std::size_t kThumbnailCells = 64;  // along each side

FigureCore one_part(draw::Part part) {
  FigureCore core;
  core.figure.parts.push_back(std::move(part));
  draw::check(core.figure);
  return core;
}

// The scale starts at 0, or at the smallest value where that is below, and ends at the largest.
draw::ValueRange range_from(const draw::Heatmap& map, std::optional<double> low, std::optional<double> high) {
  const draw::ValueRange whole = draw::range_of(map);
  return {low.value_or(std::min(0.0, whole.low)), high.value_or(whole.high)};
}

draw::Heatmap heatmap_of(std::span<const double> values, std::size_t rows, std::size_t columns) {
  draw::Heatmap map;
  map.rows = rows;
  map.columns = columns;
  map.values.assign(values.begin(), values.end());
  return map;
}

draw::Heatmap thumbnail_of(std::span<const double> values, std::size_t rows, std::size_t columns) {
  draw::Heatmap map = heatmap_of(values, rows, columns);
  if (rows <= kThumbnailCells && columns <= kThumbnailCells) return map;
  map = draw::max_pooled(map, std::min(rows, kThumbnailCells), std::min(columns, kThumbnailCells));
  map.row_labels.clear();
  map.column_labels.clear();
  return map;
}

FigureCore heatmap(const Values<2>& values, const std::optional<Mask>& mask, Labels row_labels,
                   Labels column_labels, std::string title, std::string row_title, std::string column_title,
                   std::string value_label, std::optional<double> low, std::optional<double> high,
                   std::optional<std::size_t> focus_row) {
  draw::Heatmap map = heatmap_of(std::span(values.data(), values.size()), values.shape(0), values.shape(1));
  if (mask) {
    if (mask->shape(0) != map.rows || mask->shape(1) != map.columns)
      refuse_value("mask has shape (", mask->shape(0), ", ", mask->shape(1), "), and values (", map.rows,
                   ", ", map.columns, ")");
    for (std::size_t i = 0; i < map.values.size(); ++i) map.masked.push_back(!mask->data()[i]);
  }
  map.row_labels = std::move(row_labels);
  map.column_labels = std::move(column_labels);
  map.title = std::move(title);
  map.row_title = std::move(row_title);
  map.column_title = std::move(column_title);
  map.value_label = std::move(value_label);
  map.focus_row = focus_row;
  map.range = range_from(map, low, high);
  return one_part(std::move(map));
}

// weights (heads, left, right): each head has a colour.
FigureCore head_view(const Values<3>& weights, Labels left, Labels right, Labels series, std::string title,
                     std::string left_title, std::string right_title, std::optional<std::size_t> focus,
                     std::size_t strongest) {
  if (weights.shape(1) != left.size() || weights.shape(2) != right.size())
    refuse_value("weights are (", weights.shape(1), ", ", weights.shape(2), "), and there are ", left.size(),
                 " and ", right.size(), " labels");
  draw::HeadView view;
  const std::size_t cells = left.size() * right.size();
  for (std::size_t head = 0; head < weights.shape(0); ++head) {
    if (cells == 0) break;
    const auto links = draw::strongest_links(std::span(weights.data() + head * cells, cells), right.size(),
                                             strongest, static_cast<int>(head));
    view.links.insert(view.links.end(), links.begin(), links.end());
  }
  view.title = std::move(title);
  view.left_title = std::move(left_title);
  view.right_title = std::move(right_title);
  view.left = std::move(left);
  view.right = std::move(right);
  view.series = std::move(series);
  view.focus = focus;
  view.strongest = strongest;
  return one_part(std::move(view));
}

// maps (layers, heads, rows, columns).
FigureCore model_view(const Values<4>& maps, Labels layer_labels, Labels head_labels, std::string title,
                      std::optional<double> high) {
  draw::ModelView view;
  view.title = std::move(title);
  view.layers = maps.shape(0);
  view.heads = maps.shape(1);
  view.layer_labels = std::move(layer_labels);
  view.head_labels = std::move(head_labels);
  const std::size_t cells = maps.shape(2) * maps.shape(3);
  for (std::size_t i = 0; i < view.layers * view.heads; ++i) {
    view.maps.push_back(
        thumbnail_of(std::span(maps.data() + i * cells, cells), maps.shape(2), maps.shape(3)));
    view.maps.back().range = range_from(view.maps.back(), {}, high);
  }
  return one_part(std::move(view));
}

FigureCore film_strip(const std::vector<Values<2>>& maps, const Labels& captions, std::string title,
                      std::string value_label, std::optional<double> low, std::optional<double> high) {
  if (!captions.empty() && captions.size() != maps.size())
    refuse_value("there are ", maps.size(), " maps and ", captions.size(), " captions");
  draw::FilmStrip strip;
  strip.title = std::move(title);
  strip.value_label = std::move(value_label);
  strip.range = {0, maps.empty() ? 1.0 : 0.0};
  for (std::size_t i = 0; i < maps.size(); ++i) {
    draw::Heatmap map =
        thumbnail_of(std::span(maps[i].data(), maps[i].size()), maps[i].shape(0), maps[i].shape(1));
    const draw::ValueRange range = range_from(map, low, high);
    strip.range.low = i == 0 ? range.low : std::min(strip.range.low, range.low);
    strip.range.high = i == 0 ? range.high : std::max(strip.range.high, range.high);
    if (!captions.empty()) map.title = captions[i];
    strip.frames.push_back(std::move(map));
  }
  return one_part(std::move(strip));
}

FigureCore bars(const Values<1>& values, const Labels& labels, const std::vector<std::size_t>& emphasised,
                std::string title, double full_length) {
  if (values.size() != labels.size())
    refuse_value("there are ", values.size(), " values and ", labels.size(), " labels");
  draw::Bars chart;
  chart.title = std::move(title);
  chart.full_length = full_length;
  for (std::size_t i = 0; i < labels.size(); ++i) chart.bars.push_back({labels[i], values.data()[i], false});
  for (const std::size_t bar : emphasised) {
    if (bar >= labels.size()) refuse_value("bar ", bar, " is out of range; there are ", labels.size());
    chart.bars[bar].emphasised = true;
  }
  return one_part(std::move(chart));
}

draw::AxisScale scale_from(const std::string& name) {
  if (name == "linear") return draw::AxisScale::linear;
  if (name == "log2") return draw::AxisScale::log2;
  if (name == "log10") return draw::AxisScale::log10;
  refuse_value("scale is \"", name, "\", expected linear, log2 or log10");
}

FigureCore plot(const Labels& names, const std::vector<Values<1>>& x, const std::vector<Values<1>>& y,
                std::string title, std::string x_label, std::string y_label, const std::string& x_scale,
                const std::string& y_scale) {
  draw::Plot plot;
  plot.title = std::move(title);
  plot.x = {std::move(x_label), scale_from(x_scale)};
  plot.y = {std::move(y_label), scale_from(y_scale)};
  const auto numbers = [](const Values<1>& values) {
    return std::vector<double>(values.data(), values.data() + values.size());
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    plot.series.push_back({names[i], numbers(x.at(i)), numbers(y.at(i))});
  return one_part(std::move(plot));
}

FigureCore stacked(const std::vector<const FigureCore*>& figures, std::optional<std::string> title,
                   const Labels& notes) {
  FigureCore result;
  const auto add_note = [&](const std::string& note) {
    Labels& kept = result.figure.notes;
    if (std::find(kept.begin(), kept.end(), note) == kept.end()) kept.push_back(note);
  };
  for (const FigureCore* one : figures) {
    const draw::Figure& figure = one->figure;
    if (result.figure.title.empty()) result.figure.title = figure.title;
    result.figure.parts.insert(result.figure.parts.end(), figure.parts.begin(), figure.parts.end());
    for (const std::string& note : figure.notes) add_note(note);
  }
  for (const std::string& note : notes) add_note(note);
  if (title) result.figure.title = std::move(*title);
  return result;
}

std::string svg(const FigureCore& core, double width) {
  const nb::gil_scoped_release released;
  return draw::figure_svg(core.figure, {.width = width});
}

std::string json(const FigureCore& core, int digits) {
  if (digits < 0 || digits > 17) refuse_value("digits is ", digits, ", expected 0 to 17");
  const nb::gil_scoped_release released;
  return draw::figure_json(core.figure, digits);
}

std::string text(const FigureCore& core, int width, const std::string& color) {
  constexpr int kLeast = 20, kMost = 10'000;
  if (width < kLeast || width > kMost)
    refuse_value("width is ", width, ", expected ", kLeast, " to ", kMost, " columns");
  draw::Terminal terminal{.width = width};
  if (color == "truecolor") {
    terminal.color = draw::ColorDepth::truecolor;
  } else if (color == "256") {
    terminal.color = draw::ColorDepth::ansi256;
  } else if (color != "none") {
    refuse_value("color is \"", color, "\", expected none, 256 or truecolor");
  }
  const nb::gil_scoped_release released;
  return draw::render_figure(core.figure, terminal);
}

// The file is there complete or not at all.
void write_file(const std::filesystem::path& path, const std::string& content) {
  const nb::gil_scoped_release released;
  attend::save::OutputFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace

void bind_draw(nb::module_& module) {
  const auto maybe = [](const char* name) { return nb::arg(name).none(); };
  const auto arg = [](const char* name) { return nb::arg(name); };
  nb::class_<FigureCore>(module, "FigureCore", "A figure as data, behind attend.draw.Figure.")
      .def_prop_ro("title", [](const FigureCore& self) { return self.figure.title; })
      .def_prop_ro("notes", [](const FigureCore& self) { return self.figure.notes; })
      .def("svg", &svg, arg("width"))
      .def("json", &json, arg("digits"))
      .def("text", &text, arg("width"), arg("color"));
  module.def("draw_heatmap", &heatmap, arg("values"), maybe("mask"), arg("row_labels"), arg("column_labels"),
             arg("title"), arg("row_title"), arg("column_title"), arg("value_label"), maybe("low"),
             maybe("high"), maybe("focus_row"),
             nb::sig("def draw_heatmap(values: numpy.typing.NDArray[numpy.float64], mask: "
                     "numpy.typing.NDArray[numpy.bool_] | None, row_labels: list[str], column_labels: "
                     "list[str], title: str, row_title: str, column_title: str, value_label: str, low: float "
                     "| None, high: float | None, focus_row: int | None) -> FigureCore"));
  module.def("draw_head_view", &head_view, arg("weights"), arg("left"), arg("right"), arg("series"),
             arg("title"), arg("left_title"), arg("right_title"), maybe("focus"), arg("strongest"),
             nb::sig("def draw_head_view(weights: numpy.typing.NDArray[numpy.float64], left: list[str], "
                     "right: list[str], series: list[str], title: str, left_title: str, right_title: str, "
                     "focus: int | None, strongest: int) -> FigureCore"));
  module.def("draw_model_view", &model_view, arg("maps"), arg("layer_labels"), arg("head_labels"),
             arg("title"), maybe("high"),
             nb::sig("def draw_model_view(maps: numpy.typing.NDArray[numpy.float64], layer_labels: "
                     "list[str], head_labels: list[str], title: str, high: float | None) -> FigureCore"));
  module.def("draw_film_strip", &film_strip, arg("maps"), arg("captions"), arg("title"), arg("value_label"),
             maybe("low"), maybe("high"),
             nb::sig("def draw_film_strip(maps: list[numpy.typing.NDArray[numpy.float64]], captions: "
                     "list[str], title: str, value_label: str, low: float | None, high: float | None) -> "
                     "FigureCore"));
  module.def("draw_bars", &bars, arg("values"), arg("labels"), arg("emphasised"), arg("title"),
             arg("full_length"),
             nb::sig("def draw_bars(values: numpy.typing.NDArray[numpy.float64], labels: list[str], "
                     "emphasised: list[int], title: str, full_length: float) -> FigureCore"));
  module.def("draw_plot", &plot, arg("names"), arg("x"), arg("y"), arg("title"), arg("x_label"),
             arg("y_label"), arg("x_scale"), arg("y_scale"),
             nb::sig("def draw_plot(names: list[str], x: list[numpy.typing.NDArray[numpy.float64]], y: "
                     "list[numpy.typing.NDArray[numpy.float64]], title: str, x_label: str, y_label: str, "
                     "x_scale: str, y_scale: str) -> FigureCore"));
  module.def("draw_stacked", &stacked, arg("figures"), maybe("title"), arg("notes"),
             nb::sig("def draw_stacked(figures: list[FigureCore], title: str | None, notes: list[str]) -> "
                     "FigureCore"));
  module.def("write_file", &write_file, arg("path"), arg("content"),
             nb::sig("def write_file(path: str | os.PathLike[str], content: str) -> None"));
}

}  // namespace attend_python
