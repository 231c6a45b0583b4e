#include <attend/spread_text.h>

#include <vector>

#include "base/error.h"
#include "spread/gather.h"

namespace attend {

Tensor spread_forward(Processes& processes, SpreadWay way, const Transformer& transformer,
                      std::span<const std::int32_t> text, std::optional<std::int64_t> layers) {
  const ZigzagCut cut(std::ssize(text), processes.count());
  const SpreadLengths lengths{cut.rows(), cut.rows()};
  TextShare share{.length = cut.rows(),
                  .attention = [&](ConstTensorView q, ConstTensorView k, ConstTensorView v,
                                   const AttentionOptions& options, TensorView out) {
                    spread_attention(processes, way, lengths, q, k, v, options, out);
                  }};
  std::vector<std::int32_t> ids;
  for (const RowChunk& chunk : cut.chunks_of(processes.rank())) {
    for (std::int64_t place = chunk.first; place < chunk.last; ++place) {
      share.places.push_back(place);
      ids.push_back(text[static_cast<std::size_t>(place)]);
    }
  }
  return transformer.forward(ids, share, layers);
}

Tensor spread_embed(Processes& processes, SpreadWay way, const TextModel& model,
                    std::span<const std::int32_t> text, const EmbedOptions& options) {
  const std::int64_t layers = model.transformer().description().layer_count();
  if (const std::int64_t layer = options.layer.value_or(layers); layer < 0 || layer > layers)
    refuse("spread_embed", "layer is ", layer, ", expected 0 to ", layers);
  const Tensor own = spread_forward(processes, way, model.transformer(), text, options.layer);
  const ZigzagCut cut(std::ssize(text), processes.count());
  const std::vector<Tensor> all = spread::gather(processes, cut, {own.view().with_axis(0).with_axis(0)}, 0);
  if (all.empty()) return {};
  return model.vector_of(all[0].view().select(0, 0).select(0, 0), options);
}

}  // namespace attend
