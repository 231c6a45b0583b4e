#include <attend/lens.h>

#include <cmath>

#include "base/error.h"

namespace attend {
namespace {

const Word& word_at(const Reading& reading, std::size_t word) {
  if (word >= reading.words().size())
    refuse("lens", "word is ", word, ", but there are ", reading.words().size(), ", counted from 0");
  return reading.words()[word];
}

// The mean of rows [first, last) of (rows, E).
std::vector<double> mean_of(ConstTensorView rows, std::int64_t first, std::int64_t last) {
  const Tensor chosen = copy_of(rows.slice(0, first, last), DType::f64);
  const auto size = static_cast<std::size_t>(chosen.size(1));
  std::vector<double> mean(size);
  for (std::size_t i = 0; i < chosen.values<double>().size(); ++i)
    mean[i % size] += chosen.values<double>()[i] / static_cast<double>(last - first);
  return mean;
}

}  // namespace

std::vector<double> word_vector(const Reading& reading, std::size_t word, std::int64_t layer) {
  const Word& place = word_at(reading, word);
  return mean_of(reading.hidden(layer), place.first_token, place.last_token);
}

std::vector<double> static_word_vector(const Reading& reading, std::size_t word) {
  const Word& place = word_at(reading, word);
  const std::int64_t count = place.last_token - place.first_token;
  const Tensor rows = reading.model().transformer().word_rows(
      std::span(reading.tokens().ids)
          .subspan(static_cast<std::size_t>(place.first_token), static_cast<std::size_t>(count)));
  return mean_of(rows, 0, count);
}

double cosine(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) refuse("cosine", "the vectors have ", a.size(), " and ", b.size(), " elements");
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  const double lengths = aa * bb;  // NaN where a vector is not finite, and the other one 0
  return lengths == 0 ? 0 : ab / std::sqrt(lengths);
}

}  // namespace attend
