// What the model, or each of its layers, expects at many places: a table of guesses.
#include <attend/lens_next.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/largest_first.h"
#include "base/parallel.h"
#include "lens/output_layer.h"
#include "lens/token_streams.h"

namespace attend {
namespace {

constexpr std::int64_t kLogitRows = 32;  // whose logits exist at the same time: 6 MB for 49,152 tokens

// The vectors that the output layer would see, (places, E).
Tensor vectors_at(const Reading& reading, std::span<const GuessPlace> places) {
  const Transformer& transformer = reading.model().transformer();
  const std::int64_t e = transformer.description().hidden_size, last = reading.layers();
  std::vector<std::int64_t> distinct;
  for (const GuessPlace& each : places) {
    lens::require_place(reading, each.place);
    if (each.layer < 0 || each.layer > last)
      refuse("lens", "layer is ", each.layer, ", expected 0 to ", last);
    distinct.push_back(each.place);
  }
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const std::vector<Tensor> streams = lens::token_streams(reading, distinct);
  Tensor vectors(DType::f32, {static_cast<std::int64_t>(places.size()), e});
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto row = std::lower_bound(distinct.begin(), distinct.end(), places[i].place) - distinct.begin();
    const Tensor& stream = streams[static_cast<std::size_t>(places[i].layer)];
    copy(stream.view().select(0, row), vectors.view().select(0, static_cast<std::int64_t>(i)));
  }
  transformer.apply_final_norm(vectors, vectors);
  for (std::size_t i = 0; i < places.size(); ++i) {  // what leaves the last layer has been through it already
    if (places[i].layer < last) continue;
    copy(reading.hidden(last).select(0, places[i].place),
         vectors.view().select(0, static_cast<std::int64_t>(i)));
  }
  return vectors;
}

// Fills in guesses, whose lists have their sizes already; order: room for as many tokens as there are.
void summarise(std::span<const float> logits, const GuessPlace& place, std::span<std::int32_t> order,
               PlaceGuesses& guesses) noexcept {
  const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  const auto below = [&](std::int32_t token) {
    return static_cast<double>(logits[static_cast<std::size_t>(token)]) - largest;
  };
  std::iota(order.begin(), order.end(), 0);
  const auto last = order.begin() + std::ssize(guesses.tokens);
  std::partial_sort(order.begin(), last, order.end(), [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return larger_first(x, y) || (!larger_first(y, x) && a < b);
  });
  std::copy(order.begin(), last, guesses.tokens.begin());
  std::transform(order.begin(), last, guesses.logits.begin(), below);
  for (std::size_t t = 0; t < place.temperatures.size(); ++t) {
    double sum = 0;
    for (const float logit : logits)
      sum += std::exp((static_cast<double>(logit) - largest) / place.temperatures[t]);
    guesses.log_sums[t] = std::log(sum);
  }
  guesses.watched = place.watched ? below(*place.watched) : -std::numeric_limits<double>::infinity();
}

}  // namespace

TokenRange expects_next(const Reading& reading) {
  const ModelDescription& description = reading.model().transformer().description();
  if (description.layer_count() == 0 || (!description.is_causal() && !description.has_source())) return {};
  if (!reading.model().token_head()) return {};
  return reading.looking(reading.layers());
}

std::vector<PlaceGuesses> guesses_at(const Reading& reading, std::span<const GuessPlace> places,
                                     std::size_t most) {
  const ModelDescription& description = reading.model().transformer().description();
  const TokenHead head = lens::output_layer_of(reading).for_writing();
  const std::int64_t tokens = description.vocabulary_size;
  for (const GuessPlace& each : places) {
    for (const double temperature : each.temperatures) {
      if (!(temperature > 0) || std::isinf(temperature))
        refuse("lens", "temperature is ", temperature, ", expected a positive number");
    }
    if (each.watched && (*each.watched < 0 || *each.watched >= tokens))
      refuse("lens", "token is ", *each.watched, ", expected 0 to ", tokens - 1);
  }
  const Tensor vectors = vectors_at(reading, places);
  const auto count = static_cast<std::int64_t>(places.size());
  std::vector<PlaceGuesses> guesses;
  const std::size_t shown = std::min(most, static_cast<std::size_t>(tokens));
  for (const GuessPlace& each : places) {
    guesses.push_back({.tokens = std::vector<std::int32_t>(shown),
                       .logits = std::vector<double>(shown),
                       .log_sums = std::vector<double>(each.temperatures.size())});
  }
  const auto size = static_cast<std::size_t>(tokens);
  std::vector<std::int32_t> orders(static_cast<std::size_t>(std::min(count, kLogitRows)) * size);
  for (std::int64_t first = 0; first < count; first += kLogitRows) {
    const std::int64_t rows = std::min(kLogitRows, count - first);
    const Tensor logits = head.next_logits(vectors.view().slice(0, first, first + rows));
    const std::span<const float> all = logits.values<float>();
    parallel_for(rows, [&](std::int64_t row, int) noexcept {
      const std::size_t from = static_cast<std::size_t>(row) * size,
                        index = static_cast<std::size_t>(first + row);
      summarise(all.subspan(from, size), places[index], std::span(orders).subspan(from, size),
                guesses[index]);
    });
  }
  reading.model().require_intact();
  return guesses;
}

}  // namespace attend
