#include "draw/figure_json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace attend::draw {
namespace {

using Json = nlohmann::ordered_json;

class JsonWriter {
 public:
  explicit JsonWriter(int digits) : digits_(digits) {}

  Json of(const Heatmap& map) const {
    Json json{{"kind", "heatmap"}};
    put(json, "title", map.title);
    json["rows"] = map.rows;
    json["columns"] = map.columns;
    put(json, "row_title", map.row_title);
    put(json, "column_title", map.column_title);
    put(json, "value_label", map.value_label);
    put(json, "row_labels", map.row_labels);
    put(json, "column_labels", map.column_labels);
    if (map.focus_row) json["focus_row"] = *map.focus_row;
    json["range"] = of(map.range);
    Json rows = Json::array();
    for (std::size_t i = 0; i < map.rows; ++i) {
      Json row = Json::array();
      for (std::size_t j = 0; j < map.columns; ++j)
        row.push_back(map.is_masked(i, j) ? Json() : number(map.at(i, j)));
      rows.push_back(std::move(row));
    }
    json["values"] = std::move(rows);
    return json;
  }

  Json of(const HeadView& view) const {
    Json json{{"kind", "head view"}};
    put(json, "title", view.title);
    put(json, "left_title", view.left_title);
    put(json, "right_title", view.right_title);
    json["left"] = view.left;
    json["right"] = view.right;
    put(json, "series", view.series);
    if (view.focus) json["focus"] = *view.focus;
    json["full_weight"] = number(full_weight(view));
    if (view.strongest > 0) json["strongest"] = view.strongest;
    Json links = Json::array();
    for (const Link& link : view.links) {
      Json one{{"from", link.from}, {"to", link.to}, {"weight", number(link.weight)}};
      if (link.series != 0) one["series"] = link.series;
      links.push_back(std::move(one));
    }
    json["links"] = std::move(links);
    return json;
  }

  Json of(const ModelView& view) const {
    Json json{{"kind", "model view"}};
    put(json, "title", view.title);
    json["layers"] = view.layers;
    json["heads"] = view.heads;
    put(json, "layer_labels", view.layer_labels);
    put(json, "head_labels", view.head_labels);
    if (view.group > 1) json["group"] = view.group;
    json["maps"] = all_of(view.maps);
    return json;
  }

  Json of(const Bars& bars) const {
    Json json{{"kind", "bars"}};
    put(json, "title", bars.title);
    if (bars.full_length > 0) json["full_length"] = number(bars.full_length);
    Json all = Json::array();
    for (const Bar& bar : bars.bars) {
      Json one{{"label", bar.label}, {"value", number(bar.value)}};
      if (bar.emphasised) one["emphasised"] = true;
      all.push_back(std::move(one));
    }
    json["bars"] = std::move(all);
    return json;
  }

  Json of(const Plot& plot) const {
    Json json{{"kind", "plot"}};
    put(json, "title", plot.title);
    json["x"] = of(plot.x);
    json["y"] = of(plot.y);
    Json all = Json::array();
    for (const Series& series : plot.series)
      all.push_back({{"name", series.name}, {"x", numbers(series.x)}, {"y", numbers(series.y)}});
    json["series"] = std::move(all);
    return json;
  }

  Json of(const Table& table) const {
    Json json{{"kind", "table"}};
    put(json, "title", table.title);
    put(json, "label_header", table.label_header);
    Json columns = Json::array(), rows = Json::array();
    for (const TableColumn& column : table.columns) columns.push_back(column.header);
    for (const TableRow& row : table.rows) {
      Json one = Json::object();
      put(one, "label", row.label);
      one["cells"] = row.cells;
      rows.push_back(std::move(one));
    }
    json["columns"] = std::move(columns);
    json["rows"] = std::move(rows);
    return json;
  }

  Json of(const FilmStrip& strip) const {
    Json json{{"kind", "film strip"}};
    put(json, "title", strip.title);
    put(json, "value_label", strip.value_label);
    json["range"] = of(strip.range);
    json["frames"] = all_of(strip.frames);
    return json;
  }

 private:
  template <class Value>
  static void put(Json& json, const char* key, const Value& value) {
    if (!value.empty()) json[key] = value;
  }

  Json all_of(const std::vector<Heatmap>& maps) const {
    Json all = Json::array();
    for (const Heatmap& map : maps) all.push_back(of(map));
    return all;
  }

  Json of(ValueRange range) const { return {number(range.low), number(range.high)}; }

  static Json of(const Axis& axis) {
    constexpr std::array<const char*, 3> kNames{"linear", "log2", "log10"};
    Json json = Json::object();
    put(json, "label", axis.label);
    json["scale"] = kNames[static_cast<std::size_t>(axis.scale)];
    return json;
  }

  Json numbers(const std::vector<double>& values) const {
    Json all = Json::array();
    for (const double value : values) all.push_back(number(value));
    return all;
  }

  Json number(double value) const {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    if (digits_ <= 0) return value;
    std::array<char, 64> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                   std::chars_format::scientific, std::min(digits_, 17) - 1);
    std::from_chars(text.data(), end.ptr, value);
    return value;
  }

  int digits_;
};

}  // namespace

std::string figure_json(const Figure& figure, int digits) {
  check(figure);
  const JsonWriter writer(digits);
  Json parts = Json::array();
  for (const Part& part : figure.parts)
    parts.push_back(std::visit([&](const auto& of_kind) { return writer.of(of_kind); }, part));
  Json json = Json::object();
  if (!figure.title.empty()) json["title"] = figure.title;
  json["parts"] = std::move(parts);
  if (!figure.notes.empty()) json["notes"] = figure.notes;
  // Labels may hold anything: bytes that are not UTF-8 become U+FFFD.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace attend::draw
