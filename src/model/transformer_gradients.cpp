// A forward pass that keeps what the backward pass needs, and the backward pass.
#include <attend/transformer.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/layer_backward.h"
#include "model/pass_plan.h"
#include "model/transformer_parts.h"
#include "model/workspace.h"

namespace attend {

using namespace model;

namespace {

// What is kept of a pass through a layer. The rest, its sums and the inputs of the activation, is recomputed
// in the backward pass: three more products, but a third of the memory.
struct KeptLayer {
  Tensor hidden;  // (tokens, E): what entered the layer
  Tensor q, k, v, attended;
  RowState row_state;
};

bool has_head_norms(const ModelDescription& description) {
  return std::any_of(description.layers.begin(), description.layers.end(), [](const LayerDescription& layer) {
    return layer.attention.query_key_norm != QueryKeyNorm::none;
  });
}

// Scratch memory that the layers of a backward pass use one after the other.
class BackwardWork {
 public:
  BackwardWork(const ModelDescription& description, std::int64_t tokens)
      : sizes_(description),
        tokens_(tokens),
        after_(matrix(sizes_.hidden)),
        attention_sum_(matrix(sizes_.hidden)),
        feed_forward_sum_(matrix(sizes_.hidden)),
        out_(matrix(sizes_.hidden)),
        normed_(matrix(sizes_.hidden)),
        branch_(matrix(sizes_.hidden)),
        d_read_(matrix(sizes_.hidden)),
        d_after_(matrix(sizes_.hidden)),
        product_(matrix(sizes_.product)),
        projected_(matrix(has_head_norms(description) ? sizes_.projected : 0)),
        d_projected_(matrix(sizes_.projected)),
        activated_(some(sizes_.product)),
        d_product_(some(sizes_.product)),
        d_activated_(some(sizes_.product)) {}

  TensorView out(RowRange rows) { return rows.of(out_.view()); }

  LayerMemory memory(const LayerDescription& layer, RowRange rows, KeptLayer& kept) {
    LayerMemory memory{
        .attended = rows.of(columns(kept.attended, query_columns(layer.attention))),
        .after_attention = rows.of(after_.view()),
        .attention_sum = rows.of(attention_sum_.view()),
        .feed_forward_sum = rows.of(feed_forward_sum_.view()),
        .heads = {.q = kept.q, .k = kept.k, .v = kept.v, .attended = kept.attended, .state = kept.row_state}};
    if (layer.feed_forward) memory.product = rows.of(columns(product_, product_size(*layer.feed_forward)));
    if (layer.attention.query_key_norm != QueryKeyNorm::none)
      memory.projected = rows.of(columns(projected_, projected_columns(layer)));
    return memory;
  }

  LayerRoom room(const LayerDescription& layer, RowRange rows) {
    LayerRoom room{.normed = rows.of(normed_.view()), .branch = rows.of(branch_.view())};
    if (layer.feed_forward) room.activated = some_columns(activated_, layer.feed_forward->size);
    return room;
  }

  // d_attended (tokens, heads, size): zeros, which become the gradient of the attended values.
  BackwardRoom backward_room(const LayerDescription& layer, RowRange rows, RowRange keys,
                             Tensor& d_attended) {
    const AttentionDescription& attention = layer.attention;
    const std::int64_t q = query_columns(attention), k = key_columns(attention);
    const TensorView all = columns(d_projected_, q + 2 * k);
    const TensorView queries = all.slice(1, 0, projected_columns(layer)),
                     context = all.slice(1, q, q + 2 * k);
    BackwardRoom room{.d_read = rows.of(d_read_.view()),
                      .d_after = rows.of(d_after_.view()),
                      .d_attended = rows.of(columns(d_attended, q)),
                      .d_projected = rows.of(queries),
                      .d_heads = head_views(layer, queries, context)};
    room.d_heads.attended = d_attended;
    if (layer.kind == LayerKind::cross) room.d_context = keys.of(context);
    if (layer.feed_forward) {
      room.d_product = some_columns(d_product_, product_size(*layer.feed_forward));
      room.d_activated = some_columns(d_activated_, layer.feed_forward->size);
    }
    return room;
  }

 private:
  Tensor matrix(std::int64_t width) const { return {DType::f32, {tokens_, width}}; }
  Tensor some(std::int64_t width) const {
    return {DType::f32, {std::min(tokens_, LayerRun::kActivatedRows), width}};
  }
  TensorView columns(Tensor& memory, std::int64_t width) const {
    return {memory.values<float>().data(), Dims{tokens_, width}};
  }
  static TensorView some_columns(Tensor& memory, std::int64_t width) {
    return {memory.values<float>().data(), Dims{memory.size(0), width}};
  }

  LayerSizes sizes_;
  std::int64_t tokens_;
  Tensor after_, attention_sum_, feed_forward_sum_, out_, normed_, branch_, d_read_, d_after_;
  Tensor product_, projected_, d_projected_;
  Tensor activated_, d_product_, d_activated_;
};

}  // namespace

PassGradients Transformer::gradients(const TokenBatch& batch, ConstTensorView d_out,
                                     std::optional<std::int64_t> layers, ConstTensorView embeddings) const {
  const ModelDescription& model = description();
  const ModelWeights& weights = parts_->weights;
  const std::int64_t e = model.hidden_size, tokens = batch.tokens();
  require_shape("model", {"d_out", d_out}, {tokens, e});

  PassEdits edits;
  if (embeddings.given()) edits.start = PassStart{.hidden = embeddings};
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
      layers, edits);

  PassGradients result{.embeddings = copy_of(d_out, DType::f32),
                       .attended = std::vector<Tensor>(kept.size())};
  if (kept.empty()) return result;
  const PassPlan plan(model, weights, batch);
  BackwardWork work(model, tokens);
  for (std::size_t index = kept.size(); index-- > 0;) {
    const auto number = static_cast<std::int64_t>(index);
    const LayerDescription& layer = model.layers[index];
    const RowRange rows = plan.queries(layer.kind), keys = plan.keys(layer.kind);
    const ConstTensorView x = rows.of(kept[index].hidden.view());
    const TensorView d = rows.of(result.embeddings.view());
    result.attended[index] = Tensor(DType::f32, {tokens, layer.attention.heads, layer.attention.head_size});
    LayerRun run{.layer = layer,
                 .weights = weights.layer_for_backward(number),
                 .options = plan.options(number),
                 .memory = work.memory(layer, rows, kept[index]),
                 .room = work.room(layer, rows),
                 .cosines = plan.cosines(number),
                 .sines = plan.sines(number),
                 .keep = true};
    if (run.memory.projected.given()) {  // the norms of queries and keys changed what is kept of them
      run.project(x);
      run.memory.unnormed = run.memory.projected;
    }
    const StoredNorm* const norm = weights.norm_after(model, number);
    const bool to_the_end = layer.norm.place != NormPlace::before || norm != nullptr || !layer.feed_forward;
    run.finish(x, to_the_end ? work.out(rows) : TensorView());
    if (norm != nullptr) normalise_backward(*model.final_norm, norm->view(), work.out(rows), d, d);
    const LayerBackward back{.run = run,
                             .room = work.backward_room(layer, rows, keys, result.attended[index])};
    const bool cross = layer.kind == LayerKind::cross;
    back.backward(x, {}, d, cross ? keys.of(result.embeddings.view()) : TensorView());
    kept.pop_back();  // no longer needed
  }
  return result;
}

}  // namespace attend
