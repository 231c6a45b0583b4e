// The output layer of a reading's model, for questions about what it guesses.
#pragma once

#include <attend/lens_change.h>
#include <attend/token_head.h>

#include <span>
#include <vector>

namespace attend::lens {

// Throws std::invalid_argument for a model that has none.
TokenHead output_layer_of(const Reading& reading);

// Throws std::invalid_argument for a place that is not a token of the text.
void require_place(const Reading& reading, std::int64_t place);

// The vector that leaves the last layer at a place, (E).
std::vector<double> last_vector(const Reading& reading, std::int64_t place);

// The most probable tokens, in order; equal ones by id.
std::vector<TokenGuess> best_guesses(std::span<const double> logits, std::size_t most);

// The sum of exp(logit - largest), and that largest: probabilities are exp(logit - largest) / sum.
struct SoftmaxSum {
  explicit SoftmaxSum(std::span<const double> logits);
  double probability(double logit) const;
  double largest, sum = 0;
};

}  // namespace attend::lens
