#include "learn/metrics_file.h"

#include <attend/file_error.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/json_reader.h"
#include "io/open_file.h"

namespace attend::learn {
namespace {

using io::JsonKind;

constexpr std::size_t kMostMetricsBytes = std::size_t{1} << 30;

// A line of either kind, with as many of its fields as it has.
struct Line {
  std::optional<std::int64_t> step;
  std::optional<double> loss, validation_loss;
  double accuracy = std::nan("");
  std::vector<Measure> more;
};

Line parse_line(std::string text) {
  Line line;
  io::JsonReader json("", text);
  json.object("", [&](std::string_view key) {
    if (key == "validation_loss" && json.null()) {  // how JSON writes NaN
      line.validation_loss = std::nan("");
    } else if (json.kind() != JsonKind::number) {
      json.skip(key);
    } else if (key == "step") {
      line.step = json.integer(key);
    } else if (key == "loss") {
      line.loss = json.number(key);
    } else if (key == "validation_loss") {
      line.validation_loss = json.number(key);
    } else if (key == "accuracy") {
      line.accuracy = json.number(key);
    } else {
      line.more.push_back({std::string(key), json.number(key)});
    }
  });
  json.end();
  return line;
}

// Nothing for what is not JSON.
std::optional<Line> line_of(std::string_view text) {
  if (!text.starts_with('{')) return {};
  try {
    return parse_line(std::string(text));
  } catch (const FileError&) {
    return {};
  }
}

}  // namespace

void Metrics::add_step(std::int64_t step, double loss, double rate, double norm, double tokens_per_second) {
  losses.emplace_back(step, loss);
  text += nlohmann::ordered_json{{"step", step},
                                 {"loss", loss},
                                 {"rate", rate},
                                 {"norm", norm},
                                 {"tokens_per_second", std::round(tokens_per_second)}}
              .dump() +
          "\n";
}

void Metrics::add(const Evaluation& found) {
  evaluations.push_back(found);
  nlohmann::ordered_json line{{"step", found.step}, {"validation_loss", found.loss}};
  if (!std::isnan(found.accuracy)) line["accuracy"] = found.accuracy;
  for (const Measure& measure : found.more) line[measure.key] = measure.value;
  text += line.dump() + "\n";
}

Metrics parse_metrics(std::string_view text, std::int64_t last_step) {
  Metrics metrics;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::optional<Line> line = line_of(whole);
    if (!line || !line->step || *line->step < 0 || *line->step > last_step) continue;
    // Steps only grow: a curve does not turn back.
    if (line->validation_loss) {
      if (!metrics.evaluations.empty() && *line->step <= metrics.evaluations.back().step) continue;
      metrics.evaluations.push_back(
          {{.loss = *line->validation_loss, .accuracy = line->accuracy, .more = std::move(line->more)},
           *line->step});
    } else if (line->loss) {
      if (!metrics.losses.empty() && *line->step <= metrics.losses.back().first) continue;
      metrics.losses.emplace_back(*line->step, *line->loss);
    } else {
      continue;
    }
    metrics.text.append(whole).append("\n");
  }
  return metrics;
}

Metrics read_metrics(const std::filesystem::path& folder, const std::filesystem::path& name,
                     std::int64_t last_step) {
  if (!io::exists_inside(folder, name)) return {};
  const io::FileText text = io::read_text(io::open_inside(folder, name), kMostMetricsBytes);
  return parse_metrics({text.span().data(), text.span().size()}, last_step);
}

}  // namespace attend::learn
