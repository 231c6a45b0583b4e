#include "doctor/passes.h"

namespace attend::doctor {

std::vector<Tensor> embed_each_layer(const TextModel& model, std::span<const Encoding> texts) {
  const std::int64_t layers = model.transformer().description().layer_count();
  std::vector<Tensor> results;
  if (!model.files().dense.empty()) {
    for (std::int64_t layer = 0; layer <= layers; ++layer)
      results.push_back(model.embed(texts, {.layer = layer}));
    return results;
  }
  const std::vector<Pooling> poolings =
      model.files().pooling.empty() ? std::vector{Pooling::mean} : model.files().pooling;
  const Dims shape{static_cast<std::int64_t>(texts.size()), model.embedding_size()};
  for (std::int64_t layer = 0; layer <= layers; ++layer) results.emplace_back(DType::f32, shape);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    TokenBatch batch;
    batch.add(texts[i].ids, texts[i].type_ids);
    model.transformer().forward(batch, [&](const LayerMoment& moment) {
      Tensor& result = results[static_cast<std::size_t>(moment.layer)];
      pool(moment.hidden, batch.ends, poolings, result.view().slice(0, row, row + 1));
    });
  }
  model.require_intact();
  for (Tensor& result : results) {
    if (model.files().normalize) normalize_rows(result, result);
  }
  return results;
}

std::vector<Tensor> embed_each_pooling(const TextModel& model, std::span<const Encoding> texts,
                                       std::span<const Pooling> poolings, bool normalize,
                                       std::optional<std::int64_t> layer) {
  std::vector<Tensor> results;
  if (!model.files().dense.empty()) {
    for (const Pooling pooling : poolings)
      results.push_back(model.embed(texts, {.pooling = {pooling}, .normalize = normalize, .layer = layer}));
    return results;
  }
  // Poolings are concatenated; each is normalised separately.
  const Tensor all =
      model.embed(texts, {.pooling = {poolings.begin(), poolings.end()}, .normalize = false, .layer = layer});
  const std::int64_t e = model.transformer().description().hidden_size;
  for (std::size_t p = 0; p < poolings.size(); ++p) {
    const auto begin = static_cast<std::int64_t>(p) * e;
    Tensor part = copy_of(all.view().slice(1, begin, begin + e));
    if (normalize) normalize_rows(part, part);
    results.push_back(std::move(part));
  }
  return results;
}

}  // namespace attend::doctor
