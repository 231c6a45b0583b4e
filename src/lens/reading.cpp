#include <attend/generation.h>
#include <attend/lens.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/counting.h"
#include "lens/not_finite.h"

namespace attend {
namespace {

struct WrittenAnswer {
  std::string whole, read;
};

// What a model with an encoder and a decoder answers to a text: always the most probable token, until it
// ends, has as many as `attend generate` would write, or has no position left. Where it did not end by
// itself, no token looks back at the last, and the decoder reads all but that one.
WrittenAnswer answer_of(const TextModel& model, const std::string& text,
                        std::optional<std::int64_t> max_tokens) {
  const Encoding tokens = model.encode(text, "", max_tokens);
  const auto target = std::find_if(tokens.type_ids.begin(), tokens.type_ids.end(),
                                   [](std::int32_t type) { return type != 0; });
  const auto source = static_cast<std::size_t>(target - tokens.type_ids.begin());
  Generator generator(model);
  const ModelDescription& description = model.transformer().description();
  const std::int64_t most = std::min(max_tokens.value_or(model.max_tokens()), model.most_tokens());
  std::vector<std::int32_t> ids;
  const Generated answer = generator.generate(std::span(tokens.ids).first(source),
                                              {.sampling = {.temperature = 0},
                                               .stop_tokens = description.end_tokens,
                                               .on_token = [&](const GeneratedToken& token) {
                                                 ids.push_back(token.id);
                                                 return static_cast<std::int64_t>(ids.size()) < most;
                                               }});
  const bool ended = answer.reason == StopReason::end || answer.reason == StopReason::stop;
  const std::size_t read = ids.size() - (ended || ids.empty() ? 0 : 1);
  return {.whole = model.tokenizer().decode(ids, false),
          .read = model.tokenizer().decode(std::span(ids).first(read), false)};
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
  if (only_layer_) require_number("lens", "layer", *only_layer_, layers());
  const bool answers = has_source();
  if (answers && second_.empty()) {
    WrittenAnswer answer = answer_of(model, text_, options.max_tokens);
    answer_ = std::move(answer.whole);
    second_ = std::move(answer.read);
  }
  tokens_ = second_.empty() && !answers ? model.encode(text_, options.max_tokens)
                                        : model.encode(text_, second_, options.max_tokens);
  if (tokens_.size() == 0) refuse("lens", "the text has no tokens");
  words_ = words_of(model.tokenizer(), tokens_, text_, second_);
  source_ = answers ? std::count(tokens_.type_ids.begin(), tokens_.type_ids.end(), 0) : size();
  run({}, options.keep);
}

Reading::Reading(const Reading& original, const PassEdits& edits, Keep keep)
    : model_(original.model()),
      text_(original.text_),
      second_(original.second_),
      answer_(original.answer_),
      only_layer_(original.only_layer_),
      tokens_(original.tokens_),
      source_(original.source_),
      words_(original.words_) {
  run(edits, keep);
}

void Reading::run(const PassEdits& edits, Keep keep) {
  TokenBatch batch;
  batch.add(tokens_.ids, tokens_.type_ids);
  const std::int64_t last = layers();
  const auto remember = [&](const LayerMoment& moment) {
    if (!not_finite_) not_finite_ = lens::find_not_finite(moment);
    if (only_layer_ && moment.layer != *only_layer_) return;
    const bool hidden = keep == Keep::all || moment.layer == last;
    if (moment.layer == 0) {
      if (keep != Keep::last_state) embeddings_ = copy_of(moment.hidden);
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
  model_->transformer().forward(batch, remember, only_layer_, edits);
  model_->require_intact();
}

const TextModel& Reading::model() const {
  if (!model_)
    refuse("lens", "this is the recording of a pass, without the weights and the vocabulary of its model, ",
           model_name().empty() ? "which this needs" : joined(model_name(), ", which this needs"));
  return *model_;
}

const std::string& Reading::model_name() const noexcept {
  return model_ ? model_->files().name : recorded_->model;
}

const std::string& Reading::family() const noexcept {
  return model_ ? description().family : recorded_->family;
}

bool Reading::is_causal() const noexcept { return model_ ? description().is_causal() : recorded_->causal; }

bool Reading::has_source() const noexcept { return model_ && description().has_source(); }

std::string_view Reading::token_name(std::int64_t token) const {
  const auto place = static_cast<std::size_t>(token);
  return model_ ? model_->tokenizer().token(tokens_.ids.at(place))
                : std::string_view(recorded_->tokens.at(place));
}

bool Reading::is_unknown(std::int64_t token) const {
  const auto place = static_cast<std::size_t>(token);
  return model_ && tokens_.special.at(place) == 0 && model_->tokenizer().unknown() == tokens_.ids.at(place);
}

std::int64_t Reading::unknown_tokens() const {
  std::int64_t count = 0;
  for (std::int64_t token = 0; token < size(); ++token) count += is_unknown(token) ? 1 : 0;
  return count;
}

std::int64_t Reading::layers() const noexcept {
  return model_ ? description().layer_count() : static_cast<std::int64_t>(layers_.size());
}

std::int64_t Reading::heads() const noexcept { return model_ ? description().heads() : recorded_->heads; }

std::int64_t Reading::key_heads(std::int64_t layer) const noexcept {
  return model_ ? description().layer(layer).attention.key_heads
                : layers_[static_cast<std::size_t>(layer) - 1].k.size(1);
}

std::string Reading::layer_name(std::int64_t layer) const {
  return model_ ? description().layer_name(layer) : std::to_string(layer);
}

TokenRange Reading::looking(std::int64_t layer) const noexcept {
  const LayerKind kind = has_model() ? description().layer_kind(layer) : LayerKind::whole;
  if (kind == LayerKind::whole) return {0, size()};
  return kind == LayerKind::encoder ? TokenRange{0, source_} : TokenRange{source_, size()};
}

TokenRange Reading::looked_at(std::int64_t layer) const noexcept {
  const LayerKind kind = has_model() ? description().layer_kind(layer) : LayerKind::whole;
  if (kind == LayerKind::whole) return {0, size()};
  return kind == LayerKind::decoder ? TokenRange{source_, size()} : TokenRange{0, source_};
}

ConstTensorView Reading::hidden(std::int64_t number) const {
  const Tensor& kept = number == 0 ? embeddings_ : layer(number).hidden;
  if (kept.count() == 0) refuse("lens", "this reading did not keep what leaves layer ", number);
  return kept;
}

const Reading::Layer& Reading::layer(std::int64_t number) const {
  if (only_layer_ && number != *only_layer_)
    refuse("lens", "layer ", number, " was not kept: this reading is of layer ", *only_layer_, " alone");
  require_number("lens", "layer", number, layers());
  return only_layer_ ? layers_.front() : layers_[static_cast<std::size_t>(number) - 1];
}

}  // namespace attend
