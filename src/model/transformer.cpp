// From ids to vectors: the embeddings, then layer after layer (layer.cpp).
#include <attend/transformer.h>

#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "model/edits.h"
#include "model/embeddings.h"
#include "model/pass_plan.h"
#include "model/transformer_parts.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace attend {

using namespace model;

void TokenBatch::add(std::span<const std::int32_t> text, std::span<const std::int32_t> text_types) {
  if (!text_types.empty() && types.size() < ids.size()) types.resize(ids.size());
  ids.insert(ids.end(), text.begin(), text.end());
  if (!text_types.empty()) {
    types.insert(types.end(), text_types.begin(), text_types.end());
  } else if (!types.empty()) {
    types.resize(ids.size());
  }
  ends.push_back(tokens());
}

Transformer::Transformer(const ModelDescription& description, const TensorSource& tensors,
                         const ModelOptions& options) {
  check(description);
  if (description.layer_count() > 0 && description.layers.front().kind == LayerKind::recurrent)
    refuse("model", "a model of GRU layers has no attention and cannot be read here");
  parts_ = std::make_unique<const Parts>(description, tensors, options);
}
Transformer::~Transformer() = default;
Transformer::Transformer(Transformer&&) noexcept = default;
Transformer& Transformer::operator=(Transformer&&) noexcept = default;

const ModelDescription& Transformer::description() const noexcept { return parts_->description; }
Precision Transformer::precision() const noexcept { return parts_->options.precision; }

Tensor Transformer::forward(const TokenBatch& batch, const LayerObserver& observer,
                            std::optional<std::int64_t> layers, const PassEdits& edits) const {
  Tensor out(DType::f32, {batch.tokens(), description().hidden_size});
  forward(batch, out, observer, layers, edits);
  return out;
}

void Transformer::forward(const TokenBatch& batch, TensorView out, const LayerObserver& observer,
                          std::optional<std::int64_t> layers, const PassEdits& edits) const {
  const ModelDescription& model = description();
  const ModelWeights& weights = parts_->weights;
  require_layer_count(model, layers);
  check_batch(batch, model);
  check_edits(edits, model, batch);
  const std::int64_t count = layers.value_or(model.layer_count());
  const PassPlan plan(model, weights, batch);
  Workspace work(model, batch.tokens());
  const TensorView x = out;

  const std::int64_t first = edits.start ? edits.start->layer : 0;
  if (edits.start) {
    copy(edits.start->hidden, x);
  } else {
    embed(model, weights, batch, plan, x);
  }
  if (observer && first == 0) observer({.layer = 0, .hidden = x});
  for (std::int64_t index = first; index < count; ++index) {
    const LayerDescription& layer = model.layers[static_cast<std::size_t>(index)];
    const RowRange rows = plan.queries(layer.kind), keys = plan.keys(layer.kind);
    const TensorView stream = rows.of(x);
    LayerMemory memory = work.memory(layer, rows, keys, stream);
    if (!observer && !edits.change_heads()) {
      const HeldInBf16 held = held_in_bf16(layer, weights.layer(index), plan.options(index), memory.heads);
      memory = work.memory(layer, rows, keys, stream, held);
      memory.heads.state = {};
    }
    LayerRun run{.layer = layer,
                 .weights = weights.layer(index),
                 .options = plan.options(index),
                 .memory = memory,
                 .room = work.room(rows),
                 .cosines = plan.cosines(index),
                 .sines = plan.sines(index)};
    const auto moment = [&] {
      const HeadViews& heads = run.memory.heads;
      return LayerMoment{.layer = index + 1,
                         .hidden = x,
                         .q = heads.q,
                         .k = heads.k,
                         .v = heads.v,
                         .attended = heads.attended,
                         .options = run.options,
                         .row_state = {heads.state.max, heads.state.sum},
                         .options_owner = plan.options_owner()};
    };
    if (edits.change_heads())
      run.after_attention = [&] { apply_edits(edits, moment(), run.memory.heads.attended); };
    run.forward(stream, layer.kind == LayerKind::cross ? keys.of(x) : TensorView(), stream);
    if (const StoredNorm* const norm = weights.norm_after(model, index))
      normalise(*model.final_norm, norm->view(), stream, stream);
    if (observer) observer(moment());
  }
}

Tensor Transformer::forward(std::span<const std::int32_t> ids, const TextShare& share,
                            std::optional<std::int64_t> layers) const {
  const ModelDescription& model = description();
  const ModelWeights& weights = parts_->weights;
  require_layer_count(model, layers);
  check_share(ids, share, model);
  const PassPlan plan(model, weights, share);
  Tensor out(DType::f32, {std::ssize(ids), model.hidden_size});
  Workspace work(model, std::ssize(ids));
  const TensorView x = out;
  embed(model, weights, ids, plan.places(), x);
  const RowRange rows{0, std::ssize(ids)};
  for (std::int64_t index = 0; index < layers.value_or(model.layer_count()); ++index) {
    const LayerDescription& layer = model.layers[static_cast<std::size_t>(index)];
    const LayerRun run{.layer = layer,
                       .weights = weights.layer(index),
                       .options = plan.options(index),
                       .memory = work.memory(layer, rows, rows, x),
                       .room = work.room(rows),
                       .cosines = plan.cosines(index),
                       .sines = plan.sines(index),
                       .share = &share};
    run.forward(x, {}, x);
    if (const StoredNorm* const norm = weights.norm_after(model, index))
      normalise(*model.final_norm, norm->view(), x, x);
  }
  return out;
}

}  // namespace attend
