// What a language model expects at a place, and what made it expect that.
#include <attend/lens_change.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/largest_first.h"
#include "lens/output_layer.h"

namespace attend {

namespace lens {

TokenHead output_layer_of(const Reading& reading) {
  std::optional<TokenHead> head = reading.model().token_head();
  if (!head) {
    refuse("lens", "the model ", reading.model().files().name,
           " has no head that guesses tokens: its checkpoint holds the encoder alone");
  }
  return *std::move(head);
}

void require_place(const Reading& reading, std::int64_t place) {
  if (place < 0 || place >= reading.size())
    refuse("lens", "place is ", place, ", expected 0 to ", reading.size() - 1);
}

std::vector<double> last_vector(const Reading& reading, std::int64_t place) {
  require_place(reading, place);
  const Tensor row = copy_of(reading.hidden(reading.layers()).select(0, place), DType::f64);
  return {row.values<double>().begin(), row.values<double>().end()};
}

SoftmaxSum::SoftmaxSum(std::span<const double> logits)
    : largest(*std::max_element(logits.begin(), logits.end())) {
  for (const double logit : logits) sum += std::exp(logit - largest);
}

double SoftmaxSum::probability(double logit) const { return std::exp(logit - largest) / sum; }

std::vector<TokenGuess> best_guesses(std::span<const double> logits, std::size_t most) {
  const SoftmaxSum softmax(logits);
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto last = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
  std::partial_sort(order.begin(), last, order.end(), [&](std::int32_t a, std::int32_t b) {
    const double x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return larger_first(x, y) || (!larger_first(y, x) && a < b);
  });
  std::vector<TokenGuess> guesses;
  for (auto token = order.begin(); token != last; ++token)
    guesses.push_back({*token, softmax.probability(logits[static_cast<std::size_t>(*token)])});
  return guesses;
}

}  // namespace lens

std::vector<TokenGuess> guess_tokens(const Reading& reading, std::int64_t place, std::size_t most,
                                     double temperature) {
  if (!(temperature > 0) || std::isinf(temperature))
    refuse("lens", "temperature is ", temperature, ", expected a positive number");
  std::vector<double> logits = lens::output_layer_of(reading).logits(lens::last_vector(reading, place));
  reading.model().require_intact();
  if (temperature != 1) {  // differences first: the largest stays 0 at a temperature near 0
    const double largest = *std::max_element(logits.begin(), logits.end());
    for (double& logit : logits) logit = (logit - largest) / temperature;
  }
  return lens::best_guesses(logits, most);
}

std::int64_t guessed_place(const Reading& reading) {
  const ModelDescription& description = reading.model().transformer().description();
  if (description.is_causal() || description.has_source()) return reading.size() - 1;
  const Tokenizer& tokenizer = reading.model().tokenizer();
  for (const char* const name : {"[MASK]", "<mask>"}) {
    const std::optional<std::int32_t> mask = tokenizer.id(name);
    if (!mask) continue;
    const std::vector<std::int32_t>& ids = reading.tokens().ids;
    const auto count = std::count(ids.begin(), ids.end(), *mask);
    if (count == 1) return std::find(ids.begin(), ids.end(), *mask) - ids.begin();
    refuse("lens", "the text has ", count, " places marked ", name, ", expected one to guess");
  }
  refuse("lens", "the vocabulary of ", reading.model().files().name, " has no mask token");
}

std::int32_t guessed_token(const Reading& reading, std::string_view word) {
  const Tokenizer& tokenizer = reading.model().tokenizer();
  const EncodeOptions bare{.add_special_tokens = false, .truncate = false};
  // As it stands inside a text: some vocabularies distinguish a word after a space from one at the start.
  const std::vector<std::int32_t> inside = tokenizer.encode(joined(" ", word), bare).ids;
  if (inside.size() == 1) return inside.front();
  const std::vector<std::int32_t> alone = tokenizer.encode(word, bare).ids;
  if (alone.size() == 1) return alone.front();
  refuse("lens", "\"", word, "\" is ", inside.size(), " tokens, but only one is guessed at a time");
}

PassGradients gradients_towards_token(const Reading& reading, std::int64_t place, std::int32_t token) {
  const std::vector<double> d_row =
      lens::output_layer_of(reading).gradient(lens::last_vector(reading, place), token);
  Tensor d_hidden(DType::f64, {reading.size(), static_cast<std::int64_t>(d_row.size())});
  std::copy(d_row.begin(), d_row.end(),
            d_hidden.values<double>().begin() + place * static_cast<std::int64_t>(d_row.size()));
  TokenBatch batch;
  batch.add(reading.tokens().ids, reading.tokens().type_ids);
  PassGradients gradients = reading.model().transformer().gradients(batch, d_hidden);
  reading.model().require_intact();
  return gradients;
}

}  // namespace attend
