#include <attend/lens.h>

#include <utility>

#include "base/error.h"

namespace attend {
namespace {

void check_layer(std::int64_t layer, std::int64_t layers) {
  if (layer < 1 || layer > layers) refuse("lens", "layer is ", layer, ", and the model has 1 to ", layers);
}

RowState copy_of_state(const ConstRowStateView& state) {
  RowState copy;
  copy.max = copy_of(state.max);
  copy.sum = copy_of(state.sum);
  return copy;
}

}  // namespace

Reading::Reading(const TextModel& model, std::string text, std::string second, const ReadingOptions& options)
    : model_(model), text_(std::move(text)), second_(std::move(second)), only_layer_(options.only_layer) {
  if (only_layer_) check_layer(*only_layer_, layers());
  tokens_ = second_.empty() ? model_.encode(text_, options.max_tokens)
                            : model_.encode(text_, second_, options.max_tokens);
  if (tokens_.size() == 0) refuse("lens", "the text has no tokens");
  words_ = words_of(model_.tokenizer(), tokens_, text_, second_);
  run({}, options.keep);
}

Reading::Reading(const Reading& original, const EncoderEdits& edits, Keep keep)
    : model_(original.model_),
      text_(original.text_),
      second_(original.second_),
      only_layer_(original.only_layer_),
      tokens_(original.tokens_),
      words_(original.words_) {
  run(edits, keep);
}

void Reading::run(const EncoderEdits& edits, Keep keep) {
  TokenBatch batch;
  batch.add(tokens_.ids, tokens_.type_ids);
  const std::int64_t last = layers();
  const auto remember = [&](const LayerMoment& moment) {
    if (only_layer_ && moment.layer != *only_layer_) return;
    const bool hidden = keep == Keep::all || moment.layer == last;
    if (moment.layer == 0) {
      if (hidden) embeddings_ = copy_of(moment.hidden);
      return;
    }
    Layer layer;
    if (hidden) layer.hidden = copy_of(moment.hidden);
    if (keep != Keep::last_state) {
      layer.q = copy_of(moment.q);
      layer.k = copy_of(moment.k);
      layer.v = copy_of(moment.v);
      layer.state = copy_of_state(moment.row_state);
      layer.options = moment.options;
      layer.options_owner = moment.options_owner;
    }
    layers_.push_back(std::move(layer));
  };
  model_.encoder().forward(batch, remember, only_layer_, edits);
  model_.require_intact();
}

ConstTensorView Reading::hidden(std::int64_t number) const {
  const Tensor& kept = number == 0 ? embeddings_ : layer(number).hidden;
  if (kept.count() == 0) refuse("lens", "this reading did not keep what leaves layer ", number);
  return kept;
}

const Reading::Layer& Reading::layer(std::int64_t number) const {
  if (only_layer_ && number != *only_layer_)
    refuse("lens", "layer ", number, " was not kept: this reading is of layer ", *only_layer_, " alone");
  check_layer(number, layers());
  return only_layer_ ? layers_.front() : layers_[static_cast<std::size_t>(number) - 1];
}

}  // namespace attend
