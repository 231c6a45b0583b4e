// Which numbers of a configuration make sense, alone and together. What a training would need as a whole is
// checked later, once its task has completed the configuration: learn/memory_need.h.
#include <limits>

#include "base/error.h"
#include "learn/config.h"

namespace attend::learn {
namespace {

// Steps times batches must fit in 64 bits.
constexpr std::int64_t kMostSteps = 1'000'000'000'000, kMostAccumulated = 1 << 20;

void whole(const char* key, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) {
    throw ConfigError(key, joined(value, " is not a number from ", least, " to ", most));
  }
}

void between(const char* key, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    throw ConfigError(key, joined(value, " is not a number from ", low, " to ", high));
  }
}

void check_model(const Config& config) {
  const model::OwnModel& model = config.model;
  const bool gru = model.mixer == model::MixerKind::gru;
  if (gru && (config.task == "reverse" || config.task == "masked")) {
    throw ConfigError("model.mixer", joined("\"gru\" reads forwards only, but ", config.task, " needs more"));
  }
  whole("model.layers", model.layers, 1, model::kMostOwnLayers);
  whole("model.hidden", model.hidden, 1, kLargestModelSize);
  whole("model.heads", model.heads, 1, kLargestModelSize);
  whole("model.inner", model.inner, 1, kLargestModelSize);
  if (!gru && model.hidden % model.heads != 0) {
    throw ConfigError("model.heads", joined(model.heads, " does not divide the hidden size ", model.hidden));
  }
  if (!gru && model.positions == PositionKind::rotary && model.hidden / model.heads % 2 != 0) {
    throw ConfigError("model.positions", joined("a head has ", model.hidden / model.heads,
                                                " dimensions, but rotary turns them in pairs"));
  }
  between("model.epsilon", model.epsilon, 0, 1);
  between("model.dropout", config.dropout, 0, 0.99);
}

void check_data(const Config& config) {
  whole("data.pairs", config.pairs, 1, kMostWords);
  whole("data.keys", config.keys, 1, kMostWords);
  whole("data.values", config.values, 2, kMostWords);
  whole("data.distance", config.distance, 0, kLargestModelSize);
  whole("data.symbols", config.symbols, 2, kMostWords);
  whole("data.length", config.length, 1, kLargestModelSize);
  if (config.task == "recall" && config.pairs > config.keys) {
    throw ConfigError("data.pairs", joined(config.pairs, " pairs need as many different keys, but there are ",
                                           config.keys));
  }
  if (config.task == "recall" && config.keys > 26) {
    throw ConfigError("data.keys", joined(config.keys, " is more than the alphabet has letters"));
  }
  if (const std::int64_t words = config.keys * (config.values + 1) + config.values;
      config.task == "recall" && words > kMostWords) {
    throw ConfigError("data.values", joined(config.values, " values of ", config.keys, " keys make ", words,
                                            " words, but a task has at most ", kMostWords));
  }
  between("data.validation", config.validation, 0.001, 0.9);
  between("data.masked", config.masked, 0.01, 0.9);
  between("data.score_max", config.score_max, 1e-6, 1e6);
}

void check_training(const Config& config) {
  if (config.task == "it" && config.precision != Precision::f32)
    throw ConfigError("training.precision", "it fits two small matrices in float64, and nothing in bf16");
  whole("training.steps", config.schedule.steps, 1, kMostSteps);
  whole("training.batch", config.batch, 1, kLargestModelSize);
  whole("training.accumulate", config.accumulate, 1, kMostAccumulated);
  whole("training.warmup", config.schedule.warmup, 0, kMostSteps);
  whole("training.seed", config.seed, 0, std::numeric_limits<std::int64_t>::max());
  whole("training.evaluate", config.evaluate, 1, kMostSteps);
  whole("training.save", config.save, 1, kMostSteps);
  whole("training.stop_after", config.stop_after, 0, kMostSteps);
  between("training.rate", config.schedule.peak, 0, 1e30);
  between("training.floor", config.schedule.floor, 0, 1);
  between("training.beta1", config.adamw.beta1, 0, 0.999999);
  between("training.beta2", config.adamw.beta2, 0, 0.999999);
  between("training.epsilon", config.adamw.epsilon, 1e-30, 1);
  between("training.decay", config.adamw.decay, 0, 1e6);
  between("training.clip", config.adamw.clip, 0, 1e30);
}

}  // namespace

void check(const Config& config) {
  check_model(config);
  check_data(config);
  check_training(config);
}

}  // namespace attend::learn
