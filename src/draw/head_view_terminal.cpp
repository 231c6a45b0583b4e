#include "draw/head_view_terminal.h"

#include <algorithm>

#include "draw/bars_terminal.h"
#include "draw/heatmap_cells.h"
#include "draw/number.h"
#include "draw/style.h"
#include "draw/text_width.h"

namespace attend::draw {
namespace {

constexpr int kWidestTarget = 16;
constexpr std::size_t kMostBars = 20;
constexpr NumberFormat kTwoDecimals{2, false};

std::vector<Link> strongest_first(const HeadView& view, std::size_t from) {
  std::vector<Link> links = drawn_links(view);
  std::erase_if(links, [&](const Link& link) { return link.from != from; });
  std::stable_sort(links.begin(), links.end(),
                   [](const Link& a, const Link& b) { return a.weight > b.weight; });
  return links;
}

std::string name_of_series(const HeadView& view, int series) {
  const auto index = static_cast<std::size_t>(series);
  return index < view.series.size() ? " (" + printable(view.series[index]) + ")" : "";
}

std::string focus_bars(const HeadView& view, const Terminal& terminal) {
  const std::size_t focus = *view.focus;
  Bars bars;
  bars.title = "where “" + printable(view.left[focus]) + "” looks";
  bars.full_length = full_weight(view);
  const std::vector<Link> links = strongest_first(view, focus);
  for (const Link& link : links) {
    if (bars.bars.size() == kMostBars) break;
    bars.bars.push_back(
        {printable(view.right[link.to]) + name_of_series(view, link.series), link.weight, false});
  }
  std::string text = render_bars(bars, terminal, 2);
  if (links.size() > kMostBars) {
    text += styled(shorten(std::to_string(links.size() - kMostBars) + " weaker ones are not shown",
                           terminal.width),
                   kDim, terminal.color) +
            "\n";
  }
  return text;
}

// Something that a token attends to, ready to be put into a line.
struct Target {
  std::string words;
  double place = 0;
};

Target target_of(const HeadView& view, const Link& link, double full, ColorDepth depth) {
  const double place = std::min(1.0, link.weight / full);
  const std::string name = shorten(printable(view.right[link.to]), kWidestTarget);
  std::string words = name + " " + format_number(link.weight, kTwoDecimals);
  if (depth == ColorDepth::none) return {words.append(shade(place)), place};
  return {" " + words + " ", place};
}

// The widths of the columns of targets, as many as fit.
std::vector<int> columns_of(const std::vector<std::vector<Target>>& rows, int room) {
  std::vector<int> widths;
  for (std::size_t k = 0;; ++k) {
    int widest = 0;
    for (const auto& row : rows) {
      if (k < row.size()) widest = std::max(widest, text_width(row[k].words));
    }
    room -= widest + 1;
    if (widest == 0 || room < 0) return widths;
    widths.push_back(widest);
  }
}

std::string line_of(const std::vector<Target>& targets, const std::vector<int>& columns,
                    const std::string& label, int margin, ColorDepth depth) {
  StyledLine line(depth);
  line.add(pad_left(shorten(label, margin - 1), margin - 1)).add(" ");
  for (std::size_t k = 0; k < std::min(targets.size(), columns.size()); ++k) {
    const std::string words = pad_right(targets[k].words, columns[k]);
    line.add(" ").add(words, depth == ColorDepth::none ? Style{} : cell_style(targets[k].place, depth));
  }
  return line.finish();
}

std::string heading_of(const HeadView& view, const Terminal& terminal) {
  const auto line = [&](const std::string& words, Style style) {
    return styled(shorten(words, terminal.width), style, terminal.color) + "\n";
  };
  std::string text;
  if (!view.title.empty()) text += line(printable(view.title), {.emphasis = Emphasis::bold});
  if (!view.left_title.empty() && !view.right_title.empty())
    text += line(printable(view.left_title) + " → " + printable(view.right_title), kDim);
  if (view.strongest > 0)
    text += line("the " + std::to_string(view.strongest) + " strongest of each token", kDim);
  return text;
}

}  // namespace

std::string render_head_view(const HeadView& view, const Terminal& terminal, std::size_t most_rows) {
  check(view);
  std::string text = heading_of(view, terminal);
  if (view.focus) return text + focus_bars(view, terminal);
  int margin = 0;
  for (const std::string& label : view.left) margin = std::max(margin, text_width(printable(label)));
  margin = std::min(margin, terminal.width / 4) + 1;

  std::vector<std::vector<Target>> targets(view.left.size());
  std::vector<Link> links = drawn_links(view);
  std::stable_sort(links.begin(), links.end(),
                   [](const Link& a, const Link& b) { return a.weight > b.weight; });
  const double full = full_weight(view);
  for (const Link& link : links) {
    // More than a line can hold, however short the names are.
    if (targets[link.from].size() >= static_cast<std::size_t>(std::max(1, terminal.width / 6))) continue;
    targets[link.from].push_back(target_of(view, link, full, terminal.color));
  }
  const std::vector<int> columns = columns_of(targets, terminal.width - margin);
  const std::size_t count = view.left.size();
  most_rows = std::max<std::size_t>(most_rows, 2);
  for (std::size_t i = 0; i < count; ++i) {
    if (count > most_rows && i == most_rows / 2) {
      const std::size_t left_out = count - most_rows;
      text += styled(shorten("⋮ " + std::to_string(left_out) + " tokens are not shown", terminal.width), kDim,
                     terminal.color) +
              "\n";
      i += left_out;
    }
    text += line_of(targets[i], columns, printable(view.left[i]), margin, terminal.color);
  }
  return text;
}

}  // namespace attend::draw
