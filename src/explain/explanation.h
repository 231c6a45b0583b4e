// The answer to "what did attention do with this text?", as data: a map between words or tokens, and one row
// of it looked at closely.
#pragma once

#include <attend/lens.h>

#include <optional>
#include <string>
#include <vector>

#include "draw/terminal.h"

namespace attend::explain {

struct ExplainRequest {
  LensMethod method = LensMethod::raw;
  HeadChoice heads{};
  bool tokens = false;   // between tokens, not words
  bool special = false;  // with [CLS], [SEP] and their like
  std::optional<std::string> focus{};
};

// One row in two ways: where the word looks, and what it takes from there. Over the units of the map.
struct Focus {
  std::size_t unit = 0;                                 // of the map
  std::vector<double> looks;                            // the weights
  std::vector<double> takes;                            // the lengths of what they bring
  double looks_at_special = 0, takes_from_special = 0;  // left out of the two above, unless they are shown
};

struct Explanation {
  std::vector<Word> units;     // rows and columns of the map
  Tensor map;                  // (units, units), f64
  std::vector<Word> left_out;  // special tokens that are not in the map
  double special_share = 0;    // of the rows of the map, on average
  std::optional<Focus> focus;
};

// Throws std::invalid_argument for a layer, a head or a word that is not there.
Explanation explain(const Reading& reading, const ExplainRequest& request);

// For people, and for programs.
std::string explanation_text(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation, const draw::Terminal& terminal);
std::string explanation_json(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation);

}  // namespace attend::explain
