// The keys of a configuration, in the order in which they are printed, and their types.
#pragma once

#include <string_view>

#include "learn/config.h"

namespace attend::learn {

// visit("section.key", value) for each key. The value is an int64, a double, a bool, a string or a choice.
template <class AnyConfig, class Visit>
void each_key(AnyConfig& config, const Visit& visit) {
  auto& model = config.model;
  visit("task", config.task);
  visit("model.mixer", model.mixer);
  visit("model.layers", model.layers);
  visit("model.hidden", model.hidden);
  visit("model.heads", model.heads);
  visit("model.inner", model.inner);
  visit("model.norm", model.norm);
  visit("model.norm_first", model.norm_first);
  visit("model.feed_forward", model.feed_forward);
  visit("model.positions", model.positions);
  visit("model.tied", model.tied);
  visit("model.scaled", model.scaled);
  visit("model.epsilon", model.epsilon);
  visit("model.dropout", config.dropout);
  visit("model.recompute", config.recompute);
  visit("data.pairs", config.pairs);
  visit("data.keys", config.keys);
  visit("data.values", config.values);
  visit("data.distance", config.distance);
  visit("data.symbols", config.symbols);
  visit("data.length", config.length);
  visit("data.file", config.file);
  visit("data.tokenizer", config.tokenizer);
  visit("data.validation", config.validation);
  visit("data.masked", config.masked);
  visit("data.model", config.encoder);
  visit("data.score_max", config.score_max);
  visit("training.steps", config.schedule.steps);
  visit("training.batch", config.batch);
  visit("training.accumulate", config.accumulate);
  visit("training.rate", config.schedule.peak);
  visit("training.warmup", config.schedule.warmup);
  visit("training.floor", config.schedule.floor);
  visit("training.beta1", config.adamw.beta1);
  visit("training.beta2", config.adamw.beta2);
  visit("training.epsilon", config.adamw.epsilon);
  visit("training.decay", config.adamw.decay);
  visit("training.clip", config.adamw.clip);
  visit("training.precision", config.precision);
  visit("training.seed", config.seed);
  visit("training.evaluate", config.evaluate);
  visit("training.save", config.save);
  visit("training.stop_after", config.stop_after);
}

}  // namespace attend::learn
