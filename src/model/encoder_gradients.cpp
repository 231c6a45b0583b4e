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
        }
        entering = copy_of(moment.hidden);
      },
      layers);

  EncoderGradients result{.embeddings = copy_of(d_out, DType::f32),
                          .attended = std::vector<Tensor>(kept.size())};
  if (kept.empty()) return result;
  const PassPlan plan(config_, batch, weights_->relative_bias);
  LayerGradient gradient(config_, plan, tokens);
  for (std::size_t index = kept.size(); index-- > 0;) {
    const auto layer = static_cast<std::int64_t>(index);
    result.attended[index] = Tensor(DType::f32, {tokens, config_.heads, e / config_.heads});
    gradient.go_back(config_.layer_kind(layer + 1), weights_->layers[index], weights_->transposed()[index],
                     weights_->norm_behind(config_, layer), kept[index], result.embeddings,
                     result.attended[index]);
    kept.pop_back();  // not needed any more
  }
  return result;
}

}  // namespace attend
