#include "learn/pair_measures.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace attend::learn {

std::vector<double> mean_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first + 1;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i) ranks[order[i]] = static_cast<double>(first + last + 1) / 2;
    first = last;
  }
  return ranks;
}

double pearson(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = x[i] - mean_x, b = y[i] - mean_y;
    xx += a * a;
    xy += a * b;
    yy += b * b;
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : std::nan("");
}

double spearman(std::span<const double> x, std::span<const double> y) {
  return pearson(mean_ranks(x), mean_ranks(y));
}

PartnerSearch search_partners(ConstTensorView first, ConstTensorView second,
                              const train::Contrast& contrast) {
  const Tensor table = train::cosines(first, second);
  const auto n = static_cast<std::size_t>(table.size(0));
  PartnerSearch result;
  const auto count = [&](std::size_t own, const auto& cosine) {
    std::int64_t rank = 1;
    for (std::size_t other = 0; other < n; ++other) {
      if (other != own && contrast.tells_apart(own, other) && cosine(other) >= cosine(own)) ++rank;
    }
    result.nearest += rank == 1 ? 1 : 0;
    result.reciprocal_rank += 1 / static_cast<double>(rank);
  };
  const double* const cosines = table.values<double>().data();
  for (std::size_t i = 0; i < n; ++i) {
    count(i, [&](std::size_t j) { return cosines[i * n + j]; });
    count(i, [&](std::size_t j) { return cosines[j * n + i]; });
  }
  result.nearest /= 2 * static_cast<double>(n);
  result.reciprocal_rank /= 2 * static_cast<double>(n);
  return result;
}

}  // namespace attend::learn
