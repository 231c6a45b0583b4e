#include "draw/page/axis_labels.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "draw/page/fit_text.h"

namespace attend::draw {
namespace {

constexpr double kLabelLineHeight = 1.2;    // least distance between two baselines, in font sizes
constexpr double kSlantedLineHeight = 1.4;  // any closer, the ends of words seem to run into the next
constexpr double kLabelGap = 5;             // between a label and what it names
constexpr double kTick = 3;
constexpr double kSlant = 45;        // degrees
constexpr double kBetweenLevel = 4;  // between two horizontal labels

// The step between labels that are shown: 1, 2, 5, 10, 20, 50, ...
std::size_t round_step(double least) {
  for (std::size_t power = 1;; power *= 10) {
    for (const std::size_t factor : {1, 2, 5}) {
      if (static_cast<double>(factor * power) >= least) return factor * power;
    }
  }
}

AxisLabels all_of(const AxisNames& names, LabelForm form, double size, double longest, const Sheet& sheet) {
  AxisLabels labels{form, size, {}, false, names.focus};
  for (std::size_t i = 0; i < names.names.size(); ++i)
    labels.labels.push_back({i, fitted(names.names[i], longest, labels.font(i), sheet.measure)});
  return labels;
}

AxisLabels some_of(const AxisNames& names, LabelForm form, double pitch, double longest, const Sheet& sheet) {
  AxisLabels labels{form, kLeastSize, {}, true, names.focus};
  const double least = kLeastSize * kLabelLineHeight / pitch;
  const std::size_t step = round_step(least);
  for (std::size_t i = 0; i < names.names.size(); i += step) {
    const auto apart = [&](std::size_t focus) {
      return static_cast<double>(i > focus ? i - focus : focus - i);
    };
    if (!names.focus || apart(*names.focus) >= least) labels.labels.push_back({i, ""});
  }
  if (names.focus) labels.labels.push_back({*names.focus, ""});
  std::sort(labels.labels.begin(), labels.labels.end(),
            [](const AxisLabel& a, const AxisLabel& b) { return a.index < b.index; });
  for (AxisLabel& label : labels.labels) {
    const std::string& name = names.names[label.index];
    label.text = fitted(names.counts ? name : numbered(label.index, name), longest, labels.font(label.index),
                        sheet.measure);
  }
  return labels;
}

// The largest font size for lines `distance` apart.
double size_for(double distance, double line_height = kLabelLineHeight) {
  return std::min(kLabelSize, distance / line_height);
}

}  // namespace

std::string numbered(std::size_t index, const std::string& name) {
  // The mark keeps the number in front whatever the script; ASCII does not need one.
  return std::to_string(index) + (is_ascii(name) ? " " : "\u200E ") + name;
}

AxisNames axis_names(const std::vector<std::string>& labels, std::size_t count,
                     std::optional<std::size_t> focus) {
  AxisNames names{{}, labels.empty(), focus};
  for (std::size_t i = 0; i < count; ++i)
    names.names.push_back(labels.empty() ? std::to_string(i) : drawable(labels[i]));
  return names;
}

AxisLabels labels_of_rows(const AxisNames& names, double pitch, double longest, const Sheet& sheet) {
  const double size = size_for(pitch);
  return size >= kLeastSize ? all_of(names, LabelForm::level, size, longest, sheet)
                            : some_of(names, LabelForm::level, pitch, longest, sheet);
}

AxisLabels labels_of_columns(const AxisNames& names, double pitch, double longest, const Sheet& sheet,
                             Slanted may_slant) {
  const AxisLabels level = all_of(names, LabelForm::level, kLabelSize, longest, sheet);
  if (widest(level, sheet) + kBetweenLevel <= pitch) return level;
  const double slanted = size_for(pitch * std::sin(kSlant * std::numbers::pi / 180), kSlantedLineHeight);
  if (may_slant == Slanted::allowed && slanted >= kLabelSize - 1)
    return all_of(names, LabelForm::slanted, slanted, longest, sheet);
  const double upright = size_for(pitch);
  if (upright >= kLeastSize) return all_of(names, LabelForm::upright, upright, longest, sheet);
  return some_of(names, LabelForm::upright, pitch, longest, sheet);
}

double widest(const AxisLabels& labels, const Sheet& sheet) {
  double width = 0;
  for (const AxisLabel& label : labels.labels)
    width = std::max(width, sheet.measure.width(label.text, labels.font(label.index)));
  return width;
}

void draw_row_labels(Drawing& drawing, const AxisLabels& labels, Point at, double pitch) {
  for (const AxisLabel& label : labels.labels) {
    const double middle = at.y + (static_cast<double>(label.index) + 0.5) * pitch;
    const double ticks = labels.thinned ? kTick : 0;
    if (labels.thinned) drawing.add(Line{{at.x - kTick, middle}, {at.x, middle}, {{kGrey}, 0.6}});
    drawing.text(label.text, {at.x - kLabelGap - ticks, middle + kMiddleToBase * labels.size},
                 {labels.font(label.index), kBlack, Anchor::end});
  }
}

double draw_column_labels(Drawing& drawing, const AxisLabels& labels, Point at, double pitch) {
  double reach = 0;
  for (const AxisLabel& label : labels.labels) {
    const Font font = labels.font(label.index);
    const double middle = at.x + (static_cast<double>(label.index) + 0.5) * pitch;
    const double ticks = labels.thinned ? kTick : 0;
    const double base = at.y - kLabelGap - ticks;
    const double width = drawing.width_of(label.text, font);
    if (labels.thinned) drawing.add(Line{{middle, at.y - kTick}, {middle, at.y}, {{kGrey}, 0.6}});
    switch (labels.form) {
      case LabelForm::level:
        drawing.text(label.text, {middle, base}, {font, kBlack, Anchor::middle});
        reach = std::max(reach, kLabelGap + kAscent * font.size);
        break;
      case LabelForm::slanted: {
        // Moved right by half its height, so that the first letter, not its edge, is above the cell.
        const double radians = kSlant * std::numbers::pi / 180;
        drawing.text(label.text, {middle + kMiddleToBase * font.size / 2, base},
                     {font, kBlack, Anchor::start, -kSlant});
        reach =
            std::max(reach, kLabelGap + width * std::sin(radians) + kAscent * font.size * std::cos(radians));
        break;
      }
      case LabelForm::upright:
        drawing.text(label.text, {middle + kMiddleToBase * font.size, base},
                     {font, kBlack, Anchor::start, -90});
        reach = std::max(reach, kLabelGap + ticks + width);
        break;
    }
  }
  return reach;
}

std::vector<std::size_t> spaced_choice(std::span<const double> scores, double pitch, double distance) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto reach = static_cast<std::size_t>(std::ceil(distance / pitch)) - (distance > 0 ? 1 : 0);
  std::vector<bool> taken(scores.size());
  std::vector<std::size_t> chosen;
  for (const std::size_t index : order) {
    if (taken[index]) continue;
    chosen.push_back(index);
    const std::size_t first = index - std::min(index, reach);
    const std::size_t last = std::min(index + reach, scores.size() - 1);
    for (std::size_t i = first; i <= last; ++i) taken[i] = true;
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace attend::draw
