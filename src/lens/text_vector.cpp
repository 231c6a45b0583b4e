#include <attend/lens_change.h>
#include <attend/pooling.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace attend {
namespace {

std::vector<Pooling> poolings_of(const Reading& reading) {
  const std::vector<Pooling>& said = reading.model().files().pooling;
  return said.empty() ? std::vector{Pooling::mean} : said;
}

double length_of(std::span<const double> vector) {
  double square = 0;
  for (const double value : vector) square += value * value;
  return std::sqrt(square);
}

}  // namespace

std::vector<double> text_vector(const Reading& reading) {
  const Tensor hidden = copy_of(reading.hidden(reading.layers()), DType::f64);
  const std::vector<Pooling> poolings = poolings_of(reading);
  Tensor pooled(DType::f64, {1, hidden.size(1) * static_cast<std::int64_t>(poolings.size())});
  pool(hidden, std::array<std::int64_t, 2>{0, hidden.size(0)}, poolings, pooled);
  return {pooled.values<double>().begin(), pooled.values<double>().end()};
}

PassGradients gradients_towards(const Reading& reading, std::span<const double> other) {
  const std::vector<double> own = text_vector(reading);
  if (other.size() != own.size())
    refuse("lens", "the other vector has ", other.size(), " elements, but the text's has ", own.size());
  const double a = length_of(own), b = length_of(other);
  if (!std::isfinite(a)) refuse("lens", "the vector of the text is not finite, and so has no direction");
  if (!std::isfinite(b)) refuse("lens", "the other vector is not finite, and so has no direction");
  if (a == 0 || b == 0) refuse("lens", "a vector of zeros has no direction");
  const double cosine_now = cosine(own, other);
  Tensor d_pooled(DType::f64, {1, static_cast<std::int64_t>(own.size())});
  for (std::size_t i = 0; i < own.size(); ++i)
    d_pooled.values<double>()[i] = (other[i] / b - cosine_now * own[i] / a) / a;

  const Tensor hidden = copy_of(reading.hidden(reading.layers()), DType::f64);
  Tensor d_hidden(DType::f64, hidden.shape());
  pool_backward(hidden, std::array<std::int64_t, 2>{0, hidden.size(0)}, poolings_of(reading), d_pooled,
                d_hidden);
  TokenBatch batch;
  batch.add(reading.tokens().ids, reading.tokens().type_ids);
  return reading.model().transformer().gradients(batch, d_hidden);
}

}  // namespace attend
