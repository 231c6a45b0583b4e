#include "learn/writing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace attend::learn {

std::int32_t sample(ConstTensorView logits, const Sampling& sampling, std::uint64_t number) {
  const Tensor copied = copy_of(logits, DType::f32);
  const std::span<const float> values = copied.values<float>();
  // What is not a number has no place in an order; minus infinity has, at its end.
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
  const auto size = static_cast<std::int64_t>(order.size());
  const std::int64_t kept =
      sampling.temperature <= 0 ? 1 : (sampling.top > 0 ? std::min(sampling.top, size) : size);
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), better);
  if (kept == 1) return order.front();
  const auto top = static_cast<double>(values[static_cast<std::size_t>(order.front())]);
  std::vector<double> shares;
  double sum = 0;
  for (std::int64_t i = 0; i < kept; ++i) {
    const auto value =
        static_cast<double>(values[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
    sum += std::exp((value - top) / sampling.temperature);
    shares.push_back(sum);
  }
  const double drawn = uniform_at(sampling.seed, number) * sum;
  const auto place = std::upper_bound(shares.begin(), shares.end() - 1, drawn) - shares.begin();
  return order[static_cast<std::size_t>(place)];
}

std::vector<std::int32_t> generate(Decoder& decoder, std::span<const std::int32_t> prompt, std::int64_t count,
                                   const Sampling& sampling) {
  std::vector<std::int32_t> all(prompt.begin(), prompt.end());
  const auto most = static_cast<std::size_t>(decoder.most_tokens());
  std::vector<std::int32_t> next(all.end() - static_cast<std::ptrdiff_t>(std::min(most, all.size())),
                                 all.end());
  decoder.forget();
  for (std::int64_t i = 0; i < count; ++i) {
    if (decoder.length() + static_cast<std::int64_t>(next.size()) > decoder.most_tokens()) {
      decoder.forget();
      const std::size_t again = std::max<std::size_t>(1, most / 2);
      next.assign(all.end() - static_cast<std::ptrdiff_t>(std::min(again, all.size())), all.end());
    }
    all.push_back(sample(decoder.read(next), sampling, static_cast<std::uint64_t>(i)));
    next.assign(1, all.back());
  }
  return {all.begin() + static_cast<std::ptrdiff_t>(prompt.size()), all.end()};
}

}  // namespace attend::learn
