// From logits to a token.
#include <attend/generation.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace attend {
namespace {

constexpr const char* kSamplingOperation = "generate";
constexpr double kUsualTemperature = 0.8;
constexpr std::int64_t kUsualTopK = 40;

// A setting that is given lies in its range.
void require_setting(const char* name, double value, double low, double high) {
  if (!(value >= low && value <= high && std::isfinite(value))) {
    if (high == std::numeric_limits<double>::infinity())
      refuse(kSamplingOperation, name, " is ", value, ", expected at least ", low);
    refuse(kSamplingOperation, name, " is ", value, ", expected a number from ", low, " to ", high);
  }
}

void check_sampling(const Sampling& sampling) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  require_setting("temperature", sampling.temperature.value_or(kUsualTemperature), 0, kAny);
  if (sampling.top_k.value_or(0) < 0)
    refuse(kSamplingOperation, "top_k is ", *sampling.top_k, ", expected at least 0");
  require_setting("top_p", sampling.top_p.value_or(1), 0, 1);
  require_setting("min_p", sampling.min_p.value_or(0), 0, 1);
  require_setting("frequency_penalty", sampling.frequency_penalty, -2, 2);
  require_setting("presence_penalty", sampling.presence_penalty, -2, 2);
  const double penalty = sampling.repetition_penalty.value_or(1);
  if (!(penalty > 0 && std::isfinite(penalty)))
    refuse(kSamplingOperation, "repetition_penalty is ", penalty, ", expected a number above 0");
}

// f64 from here on: so few numbers cost nothing, and a probability is the same on every machine.
std::vector<double> scores_of(ConstTensorView logits) {
  const Tensor copied = copy_of(logits, DType::f32);
  const std::span<const float> values = copied.values<float>();
  // What is not a number has no place in an order; minus infinity has, at its end.
  for (const float value : values) {
    if (std::isnan(value) || value > std::numeric_limits<float>::max())
      refuse(kSamplingOperation, "the model gives numbers that are not finite: do its weights hold NaN?");
  }
  if (std::all_of(values.begin(), values.end(), [](float value) { return std::isinf(value); }))
    refuse(kSamplingOperation, "the model gives every token the probability 0");
  return {values.begin(), values.end()};
}

void penalize(std::vector<double>& scores, const Sampling& sampling, const TokensBefore& before) {
  const auto inside = [&](std::int32_t id) {
    return id >= 0 && static_cast<std::size_t>(id) < scores.size();
  };
  const double penalty = sampling.repetition_penalty.value_or(1);
  if (penalty != 1) {
    std::vector<std::int32_t> seen(before.prompt.begin(), before.prompt.end());
    seen.insert(seen.end(), before.written.begin(), before.written.end());
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (const std::int32_t id : seen) {
      if (!inside(id)) continue;
      double& score = scores[static_cast<std::size_t>(id)];
      score = score < 0 ? score * penalty : score / penalty;
    }
  }
  if (sampling.frequency_penalty == 0 && sampling.presence_penalty == 0) return;
  std::map<std::int32_t, double> counts;
  for (const std::int32_t id : before.written) ++counts[id];
  for (const auto& [id, count] : counts) {
    if (inside(id))
      scores[static_cast<std::size_t>(id)] -= count * sampling.frequency_penalty + sampling.presence_penalty;
  }
}

// The most probable tokens in their order: at least `wanted`, with all that are equal to the last of them.
std::vector<std::int32_t> best_tokens(const std::vector<double>& scores, std::int64_t wanted) {
  const auto at = [&](std::int32_t id) { return scores[static_cast<std::size_t>(id)]; };
  const auto better = [&](std::int32_t a, std::int32_t b) { return at(a) != at(b) ? at(a) > at(b) : a < b; };
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = static_cast<std::int64_t>(order.size());
  if (wanted > 0 && wanted < size) {
    std::nth_element(order.begin(), order.begin() + wanted - 1, order.end(), better);
    const double last = at(order[static_cast<std::size_t>(wanted - 1)]);
    order.erase(
        std::remove_if(order.begin() + wanted, order.end(), [&](std::int32_t id) { return at(id) < last; }),
        order.end());
  }
  std::sort(order.begin(), order.end(), better);
  return order;
}

void add_up_to_one(std::vector<TokenProbability>& tokens) {
  double sum = 0;
  for (const TokenProbability& token : tokens) sum += token.probability;
  for (TokenProbability& token : tokens) token.probability /= sum;
}

}  // namespace

std::vector<TokenProbability> sampling_distribution(ConstTensorView logits, const Sampling& sampling,
                                                    const TokensBefore& before) {
  check_sampling(sampling);
  std::vector<double> scores = scores_of(logits);
  penalize(scores, sampling, before);
  const double temperature = sampling.temperature.value_or(kUsualTemperature);
  if (temperature == 0) {  // the first of the largest
    const auto best = std::max_element(scores.begin(), scores.end());
    return {{static_cast<std::int32_t>(best - scores.begin()), 1}};
  }
  std::vector<TokenProbability> tokens;
  const std::vector<std::int32_t> order = best_tokens(scores, sampling.top_k.value_or(kUsualTopK));
  const double top = scores[static_cast<std::size_t>(order.front())];
  for (const std::int32_t id : order)
    tokens.push_back({id, std::exp((scores[static_cast<std::size_t>(id)] - top) / temperature)});
  add_up_to_one(tokens);
  if (const double share = sampling.top_p.value_or(1); share < 1) {
    // From the least probable on, as long as what is dropped has no more than 1 - share together.
    double dropped = 0;
    while (tokens.size() > 1 && (dropped += tokens.back().probability) <= 1 - share) tokens.pop_back();
    add_up_to_one(tokens);
  }
  if (const double least = sampling.min_p.value_or(0); least > 0) {
    const double bound = least * tokens.front().probability;
    while (tokens.size() > 1 && tokens.back().probability < bound) tokens.pop_back();
    add_up_to_one(tokens);
  }
  return tokens;
}

std::int32_t sample(ConstTensorView logits, const Sampling& sampling, std::uint64_t number,
                    const TokensBefore& before) {
  const std::vector<TokenProbability> tokens = sampling_distribution(logits, sampling, before);
  double drawn = uniform_at(sampling.seed, number);
  for (const TokenProbability& token : tokens) {
    if ((drawn -= token.probability) < 0) return token.id;
  }
  // Rounding left a little over: the last token that has a probability at all.
  const auto last =
      std::find_if(tokens.rbegin(), tokens.rend(), [](const auto& token) { return token.probability > 0; });
  return last == tokens.rend() ? tokens.front().id : last->id;
}

}  // namespace attend
