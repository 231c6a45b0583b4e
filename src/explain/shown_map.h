// The units of a text that an explanation shows, and the map between them.
#pragma once

#include <span>
#include <vector>

#include "explain/explanation.h"

namespace attend::explain {

// All units of a text, and which of them are shown.
struct Units {
  std::vector<Word> all;
  bool special = false;  // special tokens are shown, too
  bool folds = false;    // the first token is not: it is the first unit, by itself

  // first: as first_token_of() has it.
  static Units of(const Reading& reading, const ExplainRequest& request,
                  const std::optional<FirstToken>& first);

  bool shows(const Word& unit) const {
    return (special || !unit.special) && !(folds && unit.first_token == 0);
  }
  std::vector<Word> shown() const;
  // The part of a row that is shown, unchanged; or normalised to add up to 1, where the method has shares.
  std::vector<double> kept(std::span<const double> row) const;
  std::vector<double> kept_shares(std::span<const double> row, LensMethod method) const;
};

struct ShownMap {
  std::vector<Word> units;  // its rows and columns: Explanation::map_units
  Tensor cells;
  std::optional<TopOfRows> top;
  double special_share = 0;  // the share that special tokens got in the rows that are shown, on average
  double sink_share = 0;     // that of the first token, where it is not shown
};

// A map from its rows, one after the other: takes memory for the cells, not for all pairs of units.
class MapRows {
 public:
  MapRows(std::vector<Word> shown, const ExplainRequest& request);
  // The row of the next unit, from unit `first` on (the rest of it is 0), and the shares of it that are not
  // shown.
  void add(std::size_t unit, std::size_t first, std::span<const double> values, double special, double sink);
  ShownMap finish() &&;

 private:
  std::vector<Word> shown_;
  bool grad_ = false;
  std::vector<std::size_t> places_;  // of each unit in the map
  ShownMap map_;
};

ShownMap shown_map(const Reading& reading, const ExplainRequest& request, const Units& units);

}  // namespace attend::explain
