// A head view as data: two columns of tokens, and lines from the tokens that attend to those they attend to.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attend::draw {

struct Link {
  std::size_t from = 0, to = 0;  // a token on the left, a token on the right
  double weight = 0;             // not drawn unless finite and above 0
  int series = 0;                // its colour: the head it belongs to, when several are shown
  friend bool operator==(const Link&, const Link&) = default;
};

struct HeadView {
  std::string title;
  std::string left_title, right_title;  // above the columns; may be empty
  std::vector<std::string> left, right;
  std::vector<Link> links;
  std::vector<std::string> series;        // names of the colours; empty: no legend
  std::optional<std::size_t> focus = {};  // a token on the left: its lines stand out, the others fade
  double full_weight =
      0;  // the weight of the strongest line; 0: the largest weight, of the focus if there is one
  std::size_t strongest = 0;  // how many lines of each token on the left were kept; 0: all
};

// Throws std::invalid_argument when a link or the focus names a token that does not exist.
void check(const HeadView& view);

// The `most` largest weights in each row of a matrix (left, right), row-major, largest first; ties go to the
// earlier column. 0: all.
std::vector<Link> strongest_links(std::span<const double> weights, std::size_t columns, std::size_t most,
                                  int series = 0);

// The weight at which a line is drawn at its strongest: always above 0.
double full_weight(const HeadView& view);

// The links that are drawn, weakest first, so that the strong ones lie on top.
std::vector<Link> drawn_links(const HeadView& view);

}  // namespace attend::draw
