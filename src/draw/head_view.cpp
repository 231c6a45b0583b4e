#include "draw/head_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace attend::draw {
namespace {

bool is_drawn(double weight) { return std::isfinite(weight) && weight > 0; }

}  // namespace

void check(const HeadView& view) {
  for (const Link& link : view.links) {
    if (link.from >= view.left.size() || link.to >= view.right.size()) {
      refuse("head view", "a line from token ", link.from, " to token ", link.to, ", but there are ",
             view.left.size(), " and ", view.right.size(), " tokens");
    }
    if (link.series < 0) refuse("head view", "a line of series ", link.series);
  }
  if (view.focus && *view.focus >= view.left.size()) {
    refuse("head view", "token ", *view.focus, " in focus, of ", view.left.size(), " tokens");
  }
}

std::vector<Link> strongest_links(std::span<const double> weights, std::size_t columns, std::size_t most,
                                  int series) {
  if (columns == 0) return {};
  if (weights.size() % columns != 0) {
    refuse("head view", weights.size(), " weights are not a whole number of rows of ", columns);
  }
  most = most == 0 ? columns : std::min(most, columns);
  std::vector<Link> links;
  std::vector<std::size_t> order(columns);
  for (std::size_t row = 0; row < weights.size() / columns; ++row) {
    const auto of_row = weights.subspan(row * columns, columns);
    std::iota(order.begin(), order.end(), std::size_t{0});
    // What is not drawn goes to the end: NaN cannot be ordered.
    const auto end =
        std::stable_partition(order.begin(), order.end(), [&](std::size_t j) { return is_drawn(of_row[j]); });
    const auto kept =
        order.begin() + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(most), end - order.begin());
    std::partial_sort(order.begin(), kept, end, [&](std::size_t a, std::size_t b) {
      return of_row[a] > of_row[b] || (of_row[a] == of_row[b] && a < b);
    });
    for (auto at = order.begin(); at != kept; ++at) links.push_back({row, *at, of_row[*at], series});
  }
  return links;
}

double full_weight(const HeadView& view) {
  double full = std::isfinite(view.full_weight) ? view.full_weight : 0;
  if (full > 0) return full;
  for (const Link& link : view.links) {
    const bool counts = !view.focus || link.from == *view.focus;
    if (counts && is_drawn(link.weight)) full = std::max(full, link.weight);
  }
  return full > 0 ? full : 1;
}

std::vector<Link> drawn_links(const HeadView& view) {
  std::vector<Link> links;
  for (const Link& link : view.links) {
    if (is_drawn(link.weight)) links.push_back(link);
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const Link& a, const Link& b) { return a.weight < b.weight; });
  return links;
}

}  // namespace attend::draw
