#include <attend/lens.h>

#include <utility>

#include "base/error.h"

namespace attend {
namespace {

RowState copy_of_state(const ConstRowStateView& state) {
  RowState copy;
  copy.max = copy_of(state.max);
  copy.sum = copy_of(state.sum);
  return copy;
}

}  // namespace

Reading::Reading(const TextModel& model, std::string text, std::string second,
                 std::optional<std::int64_t> max_tokens)
    : model_(model), text_(std::move(text)), second_(std::move(second)) {
  tokens_ = second_.empty() ? model_.encode(text_, max_tokens) : model_.encode(text_, second_, max_tokens);
  if (tokens_.size() == 0) refuse("lens", "the text has no tokens");
  words_ = words_of(model_.tokenizer(), tokens_, text_, second_);
  run({});
}

Reading::Reading(const Reading& original, const EncoderEdits& edits)
    : model_(original.model_),
      text_(original.text_),
      second_(original.second_),
      tokens_(original.tokens_),
      words_(original.words_) {
  run(edits);
}

void Reading::run(const EncoderEdits& edits) {
  TokenBatch batch;
  batch.add(tokens_.ids, tokens_.type_ids);
  const auto keep = [this](const LayerMoment& moment) {
    if (moment.layer == 0) {
      embeddings_ = copy_of(moment.hidden);
      return;
    }
    layers_.push_back({.hidden = copy_of(moment.hidden),
                       .q = copy_of(moment.q),
                       .k = copy_of(moment.k),
                       .v = copy_of(moment.v),
                       .state = copy_of_state(moment.row_state),
                       .options = moment.options,
                       .options_owner = moment.options_owner});
  };
  model_.encoder().forward(batch, keep, {}, edits);
  model_.require_intact();
}

ConstTensorView Reading::hidden(std::int64_t number) const {
  if (number == 0) return embeddings_;
  return layer(number).hidden;
}

const Reading::Layer& Reading::layer(std::int64_t number) const {
  if (number < 1 || number > layers())
    refuse("lens", "layer is ", number, ", and the model has 1 to ", layers());
  return layers_[static_cast<std::size_t>(number) - 1];
}

}  // namespace attend
