#include "model/pass_plan.h"

#include <attend/positions.h>

#include <algorithm>

#include "base/error.h"
#include "model/distance_bias.h"

namespace attend {
namespace {

constexpr const char* kPassOperation = "encoder";

// How many tokens stand before the first of type 1.
std::int64_t source_size(const TokenBatch& batch) {
  const auto target =
      std::find_if(batch.types.begin(), batch.types.end(), [](std::int32_t type) { return type != 0; });
  return batch.types.empty() ? batch.tokens() : target - batch.types.begin();
}

void check_length(const std::string& what, std::int64_t length, std::int64_t most) {
  if (length > most)
    refuse(kPassOperation, what, " has ", length, " tokens, and the model has positions for ", most);
}

void check_parts(const TokenBatch& batch, const ModelConfig& config) {
  if (batch.texts() > 1) {
    refuse(kPassOperation, "got ", batch.texts(),
           " texts: a model with an encoder and a decoder reads one at a time");
  }
  const std::int64_t split = source_size(batch);
  check_length("the source", split, config.max_tokens());
  check_length("the target", batch.tokens() - split, config.max_tokens());
  if (std::count(batch.types.begin() + std::min<std::int64_t>(split, std::ssize(batch.types)),
                 batch.types.end(), 0) > 0)
    refuse(kPassOperation, "a token of the source stands behind one of the target");
}

}  // namespace

void check_batch(const TokenBatch& batch, const ModelConfig& config) {
  const auto tokens = batch.tokens();
  if (batch.ends.empty() || batch.ends.front() != 0 || batch.ends.back() != tokens) {
    refuse(kPassOperation, "the ends of a batch must start at 0 and end at its ", tokens, " tokens");
  }
  if (!batch.types.empty() && batch.types.size() != batch.ids.size()) {
    refuse(kPassOperation, "got ", batch.types.size(), " types for ", tokens, " tokens");
  }
  for (std::size_t s = 0; s + 1 < batch.ends.size(); ++s) {
    const std::int64_t length = batch.ends[s + 1] - batch.ends[s];
    if (length < 0) refuse(kPassOperation, "the ends of a batch must not go down, but do after text ", s);
    if (config.encoder_layers == 0) check_length(joined("text ", s), length, config.max_tokens());
  }
  if (config.encoder_layers > 0) check_parts(batch, config);
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    if (batch.ids[i] < 0 || batch.ids[i] >= config.vocabulary_size) {
      refuse(kPassOperation, "id ", batch.ids[i], " of token ", i, " is outside the vocabulary of ",
             config.vocabulary_size);
    }
    if (config.token_types > 0 && !batch.types.empty() &&
        (batch.types[i] < 0 || batch.types[i] >= config.token_types)) {
      refuse(kPassOperation, "type ", batch.types[i], " of token ", i, " is not one of the model's ",
             config.token_types);
    }
  }
}

PassPlan::PassPlan(const ModelConfig& config, const TokenBatch& batch, ConstTensorView relative_bias)
    : tokens_(batch.tokens()),
      split_(config.encoder_layers > 0 ? source_size(batch) : batch.tokens()),
      rotary_(config.position_kind == PositionKind::rotary),
      places_(batch.ids.size()) {
  std::vector<std::int64_t> ends = batch.ends;
  if (config.encoder_layers > 0) ends = {0, split_, tokens_};
  std::int64_t longest = 0;
  for (std::size_t s = 0; s + 1 < ends.size(); ++s) {
    longest = std::max(longest, ends[s + 1] - ends[s]);
    for (std::int64_t i = ends[s]; i < ends[s + 1]; ++i) places_[static_cast<std::size_t>(i)] = i - ends[s];
  }

  AttentionOptions whole{
      .causal = config.causal, .cumulative_query_lengths = batch.ends, .cumulative_key_lengths = batch.ends};
  if (!config.scaled) whole.scale = 1;
  if (config.position_kind == PositionKind::alibi) whole.alibi_slopes = alibi_slopes(config.heads);
  if (config.relative_buckets > 0) {
    const RelativeBuckets buckets{.buckets = config.relative_buckets,
                                  .max_distance = config.relative_distance};
    const auto distances = std::make_shared<const DistanceBias>(relative_bias, buckets, longest);
    whole.bias = distances->view();
    owner_ = distances;
  }
  options_.fill(whole);
  if (config.encoder_layers > 0) mask_parts();
}

// Source and target are one text with a mask, so that all that is known of a text's attention, its rows, maps
// and edits, holds for them too. A mask has n² bytes: models of this kind are small, and read what has a
// length that they were trained for.
void PassPlan::mask_parts() {
  constexpr std::array kKinds = {LayerKind::encoder, LayerKind::decoder, LayerKind::cross};
  const auto masks = std::make_shared<std::array<Tensor, kKinds.size()>>();
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    Tensor& mask = (*masks)[i] = Tensor(DType::boolean, {1, 1, tokens_, tokens_});
    const RowRange rows = queries(kKinds[i]), columns = keys(kKinds[i]);
    for (std::int64_t row = rows.first; row < rows.last; ++row) {
      const auto begin = mask.values<bool>().begin() + row * tokens_;
      std::fill(begin + columns.first, begin + columns.last, true);
    }
    AttentionOptions& options = options_[static_cast<std::size_t>(kKinds[i])];
    options.mask = mask.view();
    options.causal = kKinds[i] == LayerKind::decoder;
    if (kKinds[i] == LayerKind::cross) options.alibi_slopes.clear();
  }
  owner_ = masks;
}

RowRange PassPlan::queries(LayerKind kind) const {
  if (kind == LayerKind::whole) return {0, tokens_};
  return kind == LayerKind::encoder ? source() : target();
}

RowRange PassPlan::keys(LayerKind kind) const {
  if (kind == LayerKind::whole) return {0, tokens_};
  return kind == LayerKind::decoder ? target() : source();
}

void PassPlan::turn(TensorView heads, RowRange rows, bool back) const {
  if (!rotary_ || rows.first == rows.last) return;
  const TensorView turned = rows.of(heads).transposed(0, 1);  // (H, rows, D)
  apply_rotary(turned,
               std::span(places_).subspan(static_cast<std::size_t>(rows.first),
                                          static_cast<std::size_t>(rows.last - rows.first)),
               {}, turned, back);
}

}  // namespace attend
