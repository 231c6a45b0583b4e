#include <attend/lens.h>

#include <algorithm>

#include "base/error.h"

namespace attend {
namespace {

Tensor taken(const Reading& reading, std::size_t word) {
  const auto words = static_cast<std::int64_t>(reading.words().size());
  Tensor rows(DType::f64, {reading.layers(), words});
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
    const std::vector<double> row =
        lens_row(reading, {.method = LensMethod::norm, .heads = {.layer = layer}}, reading.words(), word);
    std::copy(row.begin(), row.end(), rows.values<double>().begin() + (layer - 1) * words);
  }
  return rows;
}

}  // namespace

WordComparison compare_word(const Reading& first, std::size_t word, const Reading& second,
                            std::size_t other_word) {
  if (first.layers() != second.layers())
    refuse("compare", "the models have ", first.layers(), " and ", second.layers(), " layers");
  WordComparison result;
  result.static_cosine = cosine(static_word_vector(first, word), static_word_vector(second, other_word));
  for (std::int64_t layer = 0; layer <= first.layers(); ++layer)
    result.cosines.push_back(cosine(word_vector(first, word, layer), word_vector(second, other_word, layer)));
  result.taken_first = taken(first, word);
  result.taken_second = taken(second, other_word);
  return result;
}

}  // namespace attend
