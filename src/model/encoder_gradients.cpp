// A pass forward that keeps what the way back needs, and the way back.
#include <attend/encoder.h>

#include <utility>

#include "base/check.h"
#include "model/layer_gradient.h"
#include "model/weights.h"

namespace attend {

EncoderGradients Encoder::gradients(const TokenBatch& batch, ConstTensorView d_out,
                                    std::optional<std::int64_t> layers) const {
  const std::int64_t e = config_.hidden_size, tokens = batch.tokens();
  require_shape("encoder", {"d_out", d_out}, {tokens, e});

  std::vector<KeptLayer> kept;
  Tensor entering;
  AttentionOptions options;
  std::shared_ptr<const void> options_owner;
  forward(
      batch,
      [&](const LayerMoment& moment) {
        if (moment.layer > 0) {
          KeptLayer& layer = kept.emplace_back();
          layer.hidden = std::move(entering);
          layer.q = copy_of(moment.q);
          layer.k = copy_of(moment.k);
          layer.v = copy_of(moment.v);
          layer.attended = copy_of(moment.attended);
          layer.row_state.max = copy_of(moment.row_state.max);
          layer.row_state.sum = copy_of(moment.row_state.sum);
          options = moment.options;
          options_owner = moment.options_owner;
        }
        entering = copy_of(moment.hidden);
      },
      layers);

  EncoderGradients result{.embeddings = copy_of(d_out, DType::f32),
                          .attended = std::vector<Tensor>(kept.size())};
  if (kept.empty()) return result;
  LayerGradient gradient(config_, options, tokens);
  for (std::size_t index = kept.size(); index-- > 0;) {
    const bool last = config_.norm_first && index + 1 == weights_->layers.size();
    result.attended[index] = Tensor(DType::f32, {tokens, config_.heads, e / config_.heads});
    gradient.go_back(weights_->layers[index], weights_->transposed()[index],
                     last ? &weights_->final_norm : nullptr, kept[index], result.embeddings,
                     result.attended[index]);
    kept.pop_back();  // not needed any more
  }
  return result;
}

}  // namespace attend
