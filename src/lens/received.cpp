#include <attend/lens_heads.h>
#include <attend/weights.h>

#include "lens/head_choice.h"

namespace attend {

std::vector<double> lens_received(const Reading& reading, const HeadChoice& heads,
                                  std::span<const Word> units) {
  const std::vector<std::int64_t> layers = lens::chosen_layers(reading, heads);
  std::vector<double> tokens(static_cast<std::size_t>(reading.size()));
  const std::int64_t count = reading.heads();
  const double scale =
      1.0 / static_cast<double>(layers.size()) / (heads.head ? 1.0 : static_cast<double>(count));
  for (const std::int64_t layer_number : layers) {
    const Reading::Layer& layer = reading.layer(layer_number);
    const WeightsSummary summary =
        summarize_weights(layer.q, layer.k, layer.options, {.received = true}, layer.state);
    for (std::size_t i = 0; i < summary.received.values<float>().size(); ++i) {
      const std::int64_t number = static_cast<std::int64_t>(i) % count + 1;
      if (heads.head && number != *heads.head) continue;
      tokens[i / static_cast<std::size_t>(count)] +=
          scale * static_cast<double>(summary.received.values<float>()[i]);
    }
  }
  std::vector<double> received;
  for (const Word& unit : units) {
    double sum = 0;
    for (std::int64_t t = unit.first_token; t < unit.last_token; ++t)
      sum += tokens[static_cast<std::size_t>(t)];
    received.push_back(sum);
  }
  return received;
}

}  // namespace attend
