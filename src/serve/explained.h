// What attention did with a text, as the numbers that /explain answers, and in its two forms.
#pragma once

#include <attend/lens.h>

#include <string>
#include <vector>

#include "serve/bodies.h"

namespace attend::serve {

// Of each unit that is told: words or tokens, with or without the special ones.
struct Explained {
  std::vector<Word> units{};
  std::int64_t top_count = 0;             // keys of each row, the largest weight first
  std::vector<std::int64_t> top_units{};  // (units, top_count)
  std::vector<double> top_values{};
  std::vector<double> received{}, entropy{};
  Tensor map{};  // (units, units), where it was asked for
};

// One pass over the rows: only the map, which is asked for, takes more than a row's memory. Throws Refused
// for answers that would be too large.
Explained explained_by(const Reading& reading, const ExplainBody& body);

std::string explained_json(const std::string& model, const ExplainBody& body, std::int64_t dropped,
                           const Tensor& vector, const Explained& explained);

// The bytes of a file with the names of `attend explain -o FILE.npz`, and `vector` and `entropy`.
std::string explained_npz(const Reading& reading, const Tensor& vector, const Explained& explained);

}  // namespace attend::serve
