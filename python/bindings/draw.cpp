// FigureCore: figures as data, behind attend.draw.
#include <nanobind/ndarray.h>
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
#include "numbers.h"
#include "paths.h"
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

Labels labels_from(nb::handle given, const char* name) {
  Labels labels;
  for (const nb::handle label : given) labels.push_back(name_from(label, name));
  return labels;
}

std::optional<double> limit_from(nb::handle given, const char* name) {
  return given.is_none() ? std::nullopt : std::optional(number_from(given, name));
}

std::optional<std::size_t> place_from(nb::handle given, const char* name) {
  if (given.is_none()) return std::nullopt;
  return static_cast<std::size_t>(integer_from(given, name, 0));
}

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

FigureCore heatmap(const Values<2>& values, const std::optional<Mask>& mask, nb::handle row_labels,
                   nb::handle column_labels, nb::handle title, nb::handle row_title, nb::handle column_title,
                   nb::handle value_label, nb::handle low, nb::handle high, nb::handle focus_row) {
  draw::Heatmap map = heatmap_of(std::span(values.data(), values.size()), values.shape(0), values.shape(1));
  if (mask) {
    if (mask->shape(0) != map.rows || mask->shape(1) != map.columns)
      refuse_value("mask has shape (", mask->shape(0), ", ", mask->shape(1), "), and values (", map.rows,
                   ", ", map.columns, ")");
    for (std::size_t i = 0; i < map.values.size(); ++i) map.masked.push_back(!mask->data()[i]);
  }
  map.row_labels = labels_from(row_labels, "row_labels");
  map.column_labels = labels_from(column_labels, "column_labels");
  map.title = name_from(title, "title");
  map.row_title = name_from(row_title, "row_title");
  map.column_title = name_from(column_title, "column_title");
  map.value_label = name_from(value_label, "value_label");
  map.focus_row = place_from(focus_row, "focus_row");
  map.range = range_from(map, limit_from(low, "low"), limit_from(high, "high"));
  return one_part(std::move(map));
}

// weights (heads, left, right): each head has a colour.
FigureCore head_view(const Values<3>& weights, nb::handle left_labels, nb::handle right_labels,
                     nb::handle series, nb::handle title, nb::handle left_title, nb::handle right_title,
                     nb::handle focus, nb::handle strongest_given) {
  Labels left = labels_from(left_labels, "left"), right = labels_from(right_labels, "right");
  const auto strongest = static_cast<std::size_t>(integer_from(strongest_given, "strongest", 0));
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
  view.title = name_from(title, "title");
  view.left_title = name_from(left_title, "left_title");
  view.right_title = name_from(right_title, "right_title");
  view.left = std::move(left);
  view.right = std::move(right);
  view.series = labels_from(series, "series");
  view.focus = place_from(focus, "focus");
  view.strongest = strongest;
  return one_part(std::move(view));
}

// maps (layers, heads, rows, columns).
FigureCore model_view(const Values<4>& maps, nb::handle layer_labels, nb::handle head_labels,
                      nb::handle title, nb::handle high_given) {
  const std::optional<double> high = limit_from(high_given, "high");
  draw::ModelView view;
  view.title = name_from(title, "title");
  view.layers = maps.shape(0);
  view.heads = maps.shape(1);
  view.layer_labels = labels_from(layer_labels, "layer_labels");
  view.head_labels = labels_from(head_labels, "head_labels");
  const std::size_t cells = maps.shape(2) * maps.shape(3);
  for (std::size_t i = 0; i < view.layers * view.heads; ++i) {
    view.maps.push_back(
        thumbnail_of(std::span(maps.data() + i * cells, cells), maps.shape(2), maps.shape(3)));
    view.maps.back().range = range_from(view.maps.back(), {}, high);
  }
  return one_part(std::move(view));
}

FigureCore film_strip(const std::vector<Values<2>>& maps, nb::handle captions_given, nb::handle title,
                      nb::handle value_label, nb::handle low_given, nb::handle high_given) {
  const Labels captions = labels_from(captions_given, "captions");
  const std::optional<double> low = limit_from(low_given, "low"), high = limit_from(high_given, "high");
  if (!captions.empty() && captions.size() != maps.size())
    refuse_value("there are ", maps.size(), " maps and ", captions.size(), " captions");
  draw::FilmStrip strip;
  strip.title = name_from(title, "title");
  strip.value_label = name_from(value_label, "value_label");
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

FigureCore bars(const Values<1>& values, nb::handle labels_given, nb::handle emphasised, nb::handle title,
                nb::handle full_length) {
  const Labels labels = labels_from(labels_given, "labels");
  if (values.size() != labels.size())
    refuse_value("there are ", values.size(), " values and ", labels.size(), " labels");
  draw::Bars chart;
  chart.title = name_from(title, "title");
  chart.full_length = number_from(full_length, "full_length");
  for (std::size_t i = 0; i < labels.size(); ++i) chart.bars.push_back({labels[i], values.data()[i], false});
  for (const std::int64_t bar : integers_from(emphasised, "emphasised")) {
    if (bar < 0 || bar >= static_cast<std::int64_t>(labels.size()))
      refuse_value("emphasised names bar ", bar, ", and there are ", labels.size(), ", counted from 0");
    chart.bars[static_cast<std::size_t>(bar)].emphasised = true;
  }
  return one_part(std::move(chart));
}

draw::AxisScale scale_from(nb::handle given, const char* axis) {
  const std::string name = choice_from(given, axis, {"linear", "log2", "log10"});
  if (name == "linear") return draw::AxisScale::linear;
  if (name == "log2") return draw::AxisScale::log2;
  return draw::AxisScale::log10;
}

FigureCore plot(const Labels& names, const std::vector<Values<1>>& x, const std::vector<Values<1>>& y,
                nb::handle title, nb::handle x_label, nb::handle y_label, nb::handle x_scale,
                nb::handle y_scale) {
  draw::Plot plot;
  plot.title = name_from(title, "title");
  plot.x = {name_from(x_label, "x_label"), scale_from(x_scale, "x_scale")};
  plot.y = {name_from(y_label, "y_label"), scale_from(y_scale, "y_scale")};
  const auto numbers = [](const Values<1>& values) {
    return std::vector<double>(values.data(), values.data() + values.size());
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    plot.series.push_back({names[i], numbers(x.at(i)), numbers(y.at(i))});
  return one_part(std::move(plot));
}

FigureCore stacked(const std::vector<const FigureCore*>& figures, nb::handle title, nb::handle notes_given) {
  const Labels notes = labels_from(notes_given, "notes");
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
  if (!title.is_none()) result.figure.title = name_from(title, "title");
  return result;
}

std::string svg(const FigureCore& core, nb::handle width_given) {
  const double width = number_from(width_given, "width");
  const nb::gil_scoped_release released;
  return draw::figure_svg(core.figure, {.width = width});
}

std::string json(const FigureCore& core, nb::handle digits_given) {
  const std::int64_t digits = integer_from(digits_given, "digits");
  if (digits < 0 || digits > 17) refuse_value("digits is ", digits, ", expected 0 to 17");
  const nb::gil_scoped_release released;
  return draw::figure_json(core.figure, static_cast<int>(digits));
}

std::string text(const FigureCore& core, nb::handle width_given, nb::handle color_given) {
  constexpr std::int64_t kLeast = 20, kMost = 10'000;
  const std::int64_t width = integer_from(width_given, "width");
  const std::string color = choice_from(color_given, "color", {"none", "256", "truecolor"});
  if (width < kLeast || width > kMost)
    refuse_value("width is ", width, ", expected ", kLeast, " to ", kMost, " columns");
  draw::Terminal terminal{.width = static_cast<int>(width)};
  if (color == "truecolor") {
    terminal.color = draw::ColorDepth::truecolor;
  } else if (color == "256") {
    terminal.color = draw::ColorDepth::ansi256;
  }
  const nb::gil_scoped_release released;
  return draw::render_figure(core.figure, terminal);
}

// The file is there complete or not at all.
void write_file(nb::handle path_given, const std::string& content) {
  const std::filesystem::path path = path_from(path_given, "path");
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
      .def("svg", &svg, maybe("width"), nb::sig("def svg(self, width: float) -> str"))
      .def("json", &json, maybe("digits"), nb::sig("def json(self, digits: int) -> str"))
      .def("text", &text, maybe("width"), maybe("color"),
           nb::sig("def text(self, width: int, color: str) -> str"));
  module.def("draw_heatmap", &heatmap, arg("values"), maybe("mask"), maybe("row_labels"),
             maybe("column_labels"), maybe("title"), maybe("row_title"), maybe("column_title"),
             maybe("value_label"), maybe("low"), maybe("high"), maybe("focus_row"),
             nb::sig("def draw_heatmap(values: numpy.typing.NDArray[numpy.float64], mask: "
                     "numpy.typing.NDArray[numpy.bool_] | None, row_labels: list[str], column_labels: "
                     "list[str], title: str, row_title: str, column_title: str, value_label: str, low: float "
                     "| None, high: float | None, focus_row: int | None) -> FigureCore"));
  module.def("draw_head_view", &head_view, arg("weights"), maybe("left"), maybe("right"), maybe("series"),
             maybe("title"), maybe("left_title"), maybe("right_title"), maybe("focus"), maybe("strongest"),
             nb::sig("def draw_head_view(weights: numpy.typing.NDArray[numpy.float64], left: list[str], "
                     "right: list[str], series: list[str], title: str, left_title: str, right_title: str, "
                     "focus: int | None, strongest: int) -> FigureCore"));
  module.def("draw_model_view", &model_view, arg("maps"), maybe("layer_labels"), maybe("head_labels"),
             maybe("title"), maybe("high"),
             nb::sig("def draw_model_view(maps: numpy.typing.NDArray[numpy.float64], layer_labels: "
                     "list[str], head_labels: list[str], title: str, high: float | None) -> FigureCore"));
  module.def("draw_film_strip", &film_strip, arg("maps"), maybe("captions"), maybe("title"),
             maybe("value_label"), maybe("low"), maybe("high"),
             nb::sig("def draw_film_strip(maps: list[numpy.typing.NDArray[numpy.float64]], captions: "
                     "list[str], title: str, value_label: str, low: float | None, high: float | None) -> "
                     "FigureCore"));
  module.def("draw_bars", &bars, arg("values"), maybe("labels"), maybe("emphasised"), maybe("title"),
             maybe("full_length"),
             nb::sig("def draw_bars(values: numpy.typing.NDArray[numpy.float64], labels: list[str], "
                     "emphasised: list[int], title: str, full_length: float) -> FigureCore"));
  module.def("draw_plot", &plot, arg("names"), arg("x"), arg("y"), maybe("title"), maybe("x_label"),
             maybe("y_label"), maybe("x_scale"), maybe("y_scale"),
             nb::sig("def draw_plot(names: list[str], x: list[numpy.typing.NDArray[numpy.float64]], y: "
                     "list[numpy.typing.NDArray[numpy.float64]], title: str, x_label: str, y_label: str, "
                     "x_scale: str, y_scale: str) -> FigureCore"));
  module.def("draw_stacked", &stacked, arg("figures"), maybe("title"), maybe("notes"),
             nb::sig("def draw_stacked(figures: list[FigureCore], title: str | None, notes: list[str]) -> "
                     "FigureCore"));
  module.def("write_file", &write_file, maybe("path"), arg("content"),
             nb::sig("def write_file(path: str | os.PathLike[str], content: str) -> None"));
}

}  // namespace attend_python
