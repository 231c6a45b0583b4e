// A reading whose pass was made by another program.
#include <attend/lens.h>
#include <attend/lens_recording.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "lens/not_finite.h"
#include "lens/recording_check.h"

namespace attend {
namespace {

// What the options of a recorded layer look at.
struct RecordedViews {
  Tensor mask, bias;
};

AttentionOptions options_of(RecordedLayer& layer, std::int64_t n, std::shared_ptr<const void>& owner) {
  AttentionOptions options{.scale = layer.scale,
                           .causal = layer.causal,
                           .window = layer.window,
                           .alibi_slopes = std::move(layer.alibi_slopes),
                           .softcap = layer.softcap,
                           .sinks = std::move(layer.sinks),
                           .cumulative_query_lengths = {0, n},
                           .cumulative_key_lengths = {0, n}};
  auto views = std::make_shared<RecordedViews>();
  views->mask = std::move(layer.mask);
  views->bias = std::move(layer.bias);
  if (views->mask.count() > 0) options.mask = std::as_const(views->mask).view().with_axis(0);
  if (views->bias.count() > 0) options.bias = std::as_const(views->bias).view().with_axis(0);
  owner = std::move(views);
  return options;
}

// Weights as scores: those of queries and keys that are 0, plus log(weight). The row state says that this is
// the whole of it, so that exp() gives the weights back, whatever a row adds up to.
void make_scores(RecordedLayer& layer, RowState& state) {
  const std::int64_t heads = layer.weights.size(0), n = layer.weights.size(1);
  for (float& weight : layer.weights.values<float>())
    weight = weight > 0 ? std::log(weight) : -std::numeric_limits<float>::infinity();
  layer.bias = std::move(layer.weights);
  layer.q = Tensor(DType::f32, {n, heads, 1});
  layer.k = Tensor(DType::f32, {n, 1, 1});
  layer.v = Tensor(DType::f32, {n, 1, 1});
  layer.scale = 1.0;
  state = RowState(layer.q);
  fill(state.max, 0);
  fill(state.sum, 1);
}

Encoding encoding_of(const Recording& recording) {
  Encoding tokens;
  for (const RecordedToken& token : recording.tokens) {
    tokens.ids.push_back(token.id);
    tokens.type_ids.push_back(0);
    tokens.offsets.push_back(token.place);
    tokens.words.push_back(token.special ? -1 : static_cast<std::int32_t>(tokens.words.size()));
    tokens.special.push_back(token.special ? 1 : 0);
  }
  return tokens;
}

// Without a text, or without places in it, each token is a word.
std::vector<Word> recorded_words(const Recording& recording, const Encoding& tokens,
                                 std::span<const std::string> names) {
  bool placed = false;
  for (const TextSpan& place : tokens.offsets) placed = placed || place.end > place.begin;
  if (placed) return words_of(names, tokens, recording.text);
  std::vector<Word> words;
  for (std::size_t t = 0; t < names.size(); ++t) {
    const auto place = static_cast<std::int64_t>(t);
    words.push_back({.text = names[t],
                     .first_token = place,
                     .last_token = place + 1,
                     .special = recording.tokens[t].special});
  }
  return words;
}

}  // namespace

Reading::Reading(Recording recording) {
  lens::require_sound(recording);
  tokens_ = encoding_of(recording);
  source_ = size();
  Recorded recorded{.model = std::move(recording.model), .family = std::move(recording.family)};
  for (RecordedToken& token : recording.tokens) recorded.tokens.push_back(std::move(token.text));
  words_ = recorded_words(recording, tokens_, recorded.tokens);
  text_ = std::move(recording.text);
  recorded.causal = true;
  for (RecordedLayer& given : recording.layers) {
    Layer layer;
    const bool by_weights = given.weights.count() > 0;
    if (by_weights) make_scores(given, layer.state);
    layer.q = std::move(given.q);
    layer.k = std::move(given.k);
    layer.v = std::move(given.v);
    recorded.causal = recorded.causal && given.causal;
    layer.options = options_of(given, size(), layer.options_owner);
    if (!by_weights) {
      layer.state = RowState(layer.q);
      Tensor attended(DType::f32, {size(), layer.q.size(1), layer.v.size(2)});
      attention(layer.q, layer.k, layer.v, layer.options, attended, layer.state);
    }
    recorded.heads = layer.q.size(1);
    layers_.push_back(std::move(layer));
    if (!not_finite_) {
      const Layer& kept = layers_.back();
      not_finite_ = lens::find_not_finite(
          {.layer = static_cast<std::int64_t>(layers_.size()), .q = kept.q, .k = kept.k, .v = kept.v});
    }
  }
  recorded_ = std::move(recorded);
}

}  // namespace attend
