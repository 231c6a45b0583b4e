#include "learn/memory_need.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_limit.h"
#include "io/fail.h"
#include "train/model.h"
#include "train/model_memory.h"

namespace attend::learn {
namespace {

using model::OwnModel;
using train::TrainingOptions;

// For a token's id, target and row, in the current batch and in the four batches of most validations.
constexpr double kBytesOfAToken = 64;

// A key, its value, and what the training would need with the task's default value.
struct Suspect {
  std::string key, value;
  double need = 0;
};

// For settings that do not make a model, what the next larger model needs.
double need_of(OwnModel own, const TrainingOptions& options) {
  own.hidden = (own.hidden + own.heads - 1) / own.heads * own.heads;
  if (own.positions == PositionKind::rotary && own.hidden / own.heads % 2 != 0)
    own.positions = PositionKind::none;
  return memory_need(model::describe(own), options);
}

class Suspects {
 public:
  Suspects(const OwnModel& own, const TrainingOptions& options) : own_(own), options_(options) {}

  void add(const char* key, const std::string& value,
           const std::function<void(OwnModel& own, TrainingOptions& options)>& make_usual) {
    OwnModel own = own_;
    TrainingOptions options = options_;
    make_usual(own, options);
    found_.push_back({key, value, need_of(own, options)});
  }
  const Suspect& worst() const {
    return *std::min_element(found_.begin(), found_.end(),
                             [](const Suspect& a, const Suspect& b) { return a.need < b.need; });
  }

 private:
  OwnModel own_;
  TrainingOptions options_;
  std::vector<Suspect> found_;
};

// The key that decides how long a task's sequences are, and that of its vocabulary.
struct Sources {
  const char *length_key, *words_key;
  std::string length, words;
};
Sources sources_of(const Config& config) {
  if (config.task == "recall") {
    return {"data.distance", "data.values", std::to_string(config.distance), std::to_string(config.values)};
  }
  const std::string length = std::to_string(config.length);
  if (config.task == "pairs") return {"data.length", "data.model", length, io::shown(config.encoder)};
  if (config.task == "text" || config.task == "masked") {
    return {"data.length", "data.tokenizer", length, io::shown(config.tokenizer)};
  }
  return {"data.length", "data.symbols", length, std::to_string(config.symbols)};
}

Suspect worst_key(const Config& config, const TrainingOptions& training) {
  const Config usual = default_config(config.task);
  const Sources sources = sources_of(config);
  Suspects suspects(config.model, training);
  const auto size = [&](const char* key, std::int64_t OwnModel::*member) {
    suspects.add(key, std::to_string(config.model.*member), [&](OwnModel& own, TrainingOptions&) {
      own.*member = std::min(own.*member, usual.model.*member);
    });
  };
  suspects.add("training.batch", std::to_string(config.batch), [&](OwnModel&, TrainingOptions& options) {
    options.sequences = std::min(options.sequences, usual.batch);
  });
  suspects.add(sources.length_key, sources.length,
               [&](OwnModel& own, TrainingOptions&) { own.length = std::min(own.length, usual.length); });
  if (config.task == "pairs") {  // their model decides everything else
    suspects.add(sources.words_key, sources.words, [&](OwnModel& own, TrainingOptions&) {
      const std::int64_t length = own.length;
      own = usual.model;
      own.vocabulary = 1;
      own.length = length;
    });
    return suspects.worst();
  }
  suspects.add(sources.words_key, sources.words, [&](OwnModel& own, TrainingOptions&) {
    own.vocabulary = std::min<std::int64_t>(own.vocabulary, 256);
  });
  size("model.layers", &OwnModel::layers);
  size("model.hidden", &OwnModel::hidden);
  size("model.heads", &OwnModel::heads);
  size("model.inner", &OwnModel::inner);
  return suspects.worst();
}

void require_size(const char* key, const char* what, std::int64_t size) {
  if (size <= kLargestModelSize) return;
  throw ConfigError(key,
                    joined("it makes ", size, ' ', what, ", but a model has at most ", kLargestModelSize));
}

}  // namespace

double memory_need(const ModelDescription& description, const TrainingOptions& options) {
  const double stacks = description.has_source() ? 2 : 1;
  const double tokens =
      stacks * static_cast<double>(options.sequences) * static_cast<double>(description.max_tokens());
  return train::model_memory(description, options).total() + kBytesOfAToken * tokens;
}

void require_sizes(const Config& config, const TrainingOptions& options) {
  const Sources sources = sources_of(config);
  require_size(sources.length_key, "positions", config.model.length);
  require_size(sources.words_key, "words", config.model.vocabulary);
  require_size("training.batch", "sequences", options.sequences);
}

void require_memory(const Config& config, const ModelDescription& description,
                    const TrainingOptions& options) {
  const double need = memory_need(description, options), most = memory_limit();
  if (need <= most) return;
  const Suspect worst = worst_key(config, options);
  const double parameters = train::model_memory(description, options).parameters;
  throw ConfigError(
      worst.key, joined(worst.value, " is too large here: the training would take ", memory_text(need),
                        " of memory (", memory_text(parameters), " for parameters, gradients and moments, ",
                        memory_text(need - parameters), " for the work on batches of ", options.sequences,
                        " sequences), but this process can have at most ", memory_text(most)));
}

}  // namespace attend::learn
