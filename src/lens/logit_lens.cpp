#include <attend/lens_next.h>

#include <algorithm>

#include "base/error.h"
#include "lens/output_layer.h"
#include "lens/token_streams.h"

namespace attend {

LogitLens logit_lens(const Reading& reading, std::int64_t place, std::size_t most,
                     std::optional<std::int32_t> watched) {
  lens::require_place(reading, place);
  const Transformer& transformer = reading.model().transformer();
  const std::int64_t layers = reading.layers(), e = transformer.description().hidden_size;
  const std::vector<Tensor> streams = lens::token_streams(reading, std::span(&place, 1));
  Tensor vectors(DType::f32, {layers + 1, e});
  for (std::int64_t layer = 0; layer < layers; ++layer)
    copy(streams[static_cast<std::size_t>(layer)], vectors.view().slice(0, layer, layer + 1));
  transformer.apply_final_norm(vectors.view().slice(0, 0, layers), vectors.view().slice(0, 0, layers));
  copy(reading.hidden(layers).slice(0, place, place + 1), vectors.view().slice(0, layers, layers + 1));
  const Tensor logits = lens::output_layer_of(reading).logits(vectors.view());
  reading.model().require_intact();

  const std::int64_t tokens = logits.size(1);
  const auto of_layer = [&](std::int64_t layer) {
    return logits.values<double>().subspan(static_cast<std::size_t>(layer * tokens),
                                           static_cast<std::size_t>(tokens));
  };
  LogitLens result{.watched = watched.value_or(0)};
  if (!watched) result.watched = lens::best_guesses(of_layer(layers), 1).front().token;
  if (result.watched < 0 || result.watched >= tokens)
    refuse("lens", "token is ", result.watched, ", expected 0 to ", tokens - 1);
  for (std::int64_t layer = 0; layer <= layers; ++layer) {
    const std::span<const double> row = of_layer(layer);
    const double logit = row[static_cast<std::size_t>(result.watched)];
    result.layers.push_back(
        {.layer = layer,
         .guesses = lens::best_guesses(row, most),
         .probability = lens::SoftmaxSum(row).probability(logit),
         .rank = std::count_if(row.begin(), row.end(), [&](double other) { return other > logit; })});
  }
  return result;
}

}  // namespace attend
