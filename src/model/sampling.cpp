// From logits to a token.
#include <attend/generation.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace attend {

std::int32_t sample(ConstTensorView logits, const Sampling& sampling, std::uint64_t number) {
  const Tensor copied = copy_of(logits, DType::f32);
  const std::span<const float> values = copied.values<float>();
  // NaN cannot be ordered; minus infinity can, and comes last.
  for (const float value : values) {
    if (std::isnan(value) || value > std::numeric_limits<float>::max())
      refuse("generate", "the model gives numbers that are not finite: do its weights hold NaN?");
  }
  std::vector<std::int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](std::int32_t a, std::int32_t b) {
    const float left = values[static_cast<std::size_t>(a)], right = values[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  };
  const double temperature = sampling.temperature.value_or(0.8);
  if (!(temperature >= 0 && std::isfinite(temperature)))
    refuse("generate", "temperature is ", temperature, ", expected a number from 0");
  if (sampling.top_k < 0) refuse("generate", "top_k is ", sampling.top_k, ", expected a number from 0");
  const auto size = static_cast<std::int64_t>(order.size());
  const std::int64_t kept =
      temperature == 0 ? 1 : (sampling.top_k > 0 ? std::min(sampling.top_k, size) : size);
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), better);
  if (kept == 1) return order.front();
  const auto top = static_cast<double>(values[static_cast<std::size_t>(order.front())]);
  std::vector<double> shares;
  double sum = 0;
  for (std::int64_t i = 0; i < kept; ++i) {
    const auto value =
        static_cast<double>(values[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
    sum += std::exp((value - top) / temperature);
    shares.push_back(sum);
  }
  const double drawn = uniform_at(sampling.seed, number) * sum;
  const auto place = std::upper_bound(shares.begin(), shares.end() - 1, drawn) - shares.begin();
  return order[static_cast<std::size_t>(place)];
}

}  // namespace attend
