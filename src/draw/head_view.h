// A head view as data: two columns of tokens, and lines from those that look to those that are looked at.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attend::draw {

struct Link {
  std::size_t from = 0, to = 0;  // a token on the left, a token on the right
  double weight = 0;             // what is not finite or not above 0 is not drawn
  int series = 0;                // its colour: the head it belongs to, where several are shown
  friend bool operator==(const Link&, const Link&) = default;
};

struct HeadView {
  std::string title;
  std::string left_title, right_title;  // above the columns; may be empty
  std::vector<std::string> left, right;
  std::vector<Link> links;
  std::vector<std::string> series;        // names of the colours; none: they are not explained
  std::optional<std::size_t> focus = {};  // a token on the left: its lines stand out, the others fade
  double full_weight = 0;  // the weight of the strongest line; 0: the largest, of the focus if there is one
  std::size_t strongest = 0;  // so many lines of each token on the left were kept; 0: all
};

// Throws one sentence when a link or the focus names a token that is not there.
void check(const HeadView& view);

// Of a matrix (left, right), row-major: the `most` largest of each row, largest first; of equal ones the
// first. 0: all.
std::vector<Link> strongest_links(std::span<const double> weights, std::size_t columns, std::size_t most,
                                  int series = 0);

// The weight at which a line is drawn at its strongest: above 0 always.
double full_weight(const HeadView& view);

// The links that are drawn, weakest first, so that the strong ones lie on top.
std::vector<Link> drawn_links(const HeadView& view);

}  // namespace attend::draw
