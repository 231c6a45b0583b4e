#include "learn/memory_need.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_limit.h"
#include "io/fail.h"
#include "train/model_memory.h"

namespace attend::learn {
namespace {

using train::ModelShape;

// Of a token: its id, its target and its row, in the batch at hand and in the four of most validations.
constexpr double kBytesOfAToken = 64;

// A key, its value, and the training as it would be with the value that the task usually has.
struct Suspect {
  std::string key, value;
  double need = 0;
};

class Suspects {
 public:
  Suspects(const ModelShape& shape, std::int64_t sequences) : shape_(shape), sequences_(sequences) {}

  void add(const char* key, const std::string& value,
           const std::function<void(ModelShape& shape, std::int64_t& sequences)>& make_usual) {
    ModelShape shape = shape_;
    std::int64_t sequences = sequences_;
    make_usual(shape, sequences);
    found_.push_back({key, value, memory_need(shape, sequences)});
  }
  const Suspect& worst() const {
    return *std::min_element(found_.begin(), found_.end(),
                             [](const Suspect& a, const Suspect& b) { return a.need < b.need; });
  }

 private:
  ModelShape shape_;
  std::int64_t sequences_;
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

Suspect worst_key(const Config& config, const ModelShape& shape, std::int64_t sequences) {
  const Config usual = default_config(config.task);
  const Sources sources = sources_of(config);
  Suspects suspects(shape, sequences);
  const auto size = [&](const char* key, std::int64_t ModelShape::*member) {
    suspects.add(key, std::to_string(shape.*member), [&](ModelShape& other, std::int64_t&) {
      other.*member = std::min(other.*member, usual.model.*member);
    });
  };
  suspects.add("training.batch", std::to_string(config.batch),
               [&](ModelShape&, std::int64_t& other) { other = std::min(other, usual.batch); });
  suspects.add(sources.length_key, sources.length, [&](ModelShape& other, std::int64_t&) {
    other.length = std::min(other.length, usual.length);
  });
  if (config.task == "pairs") {  // whose model decides all the rest
    suspects.add(sources.words_key, sources.words, [&](ModelShape& other, std::int64_t&) {
      const std::int64_t length = other.length;
      other = usual.model;
      other.vocabulary = 1;
      other.length = length;
    });
    return suspects.worst();
  }
  suspects.add(sources.words_key, sources.words, [&](ModelShape& other, std::int64_t&) {
    other.vocabulary = std::min<std::int64_t>(other.vocabulary, 256);
  });
  size("model.layers", &ModelShape::layers);
  size("model.hidden", &ModelShape::hidden);
  size("model.heads", &ModelShape::heads);
  size("model.inner", &ModelShape::inner);
  return suspects.worst();
}

void require_size(const char* key, const char* what, std::int64_t size) {
  if (size <= train::kLargestSize) return;
  throw ConfigError(key,
                    joined("it makes ", size, ' ', what, ", and a model has at most ", train::kLargestSize));
}

}  // namespace

double memory_need(const ModelShape& shape, std::int64_t sequences) {
  const double stacks = shape.kind == train::ModelKind::encoder_decoder ? 2 : 1;
  const double tokens = stacks * static_cast<double>(sequences) * static_cast<double>(shape.length);
  return train::model_memory(shape, sequences).total() + kBytesOfAToken * tokens;
}

void require_memory(const Config& config, const ModelShape& shape, std::int64_t sequences) {
  const Sources sources = sources_of(config);
  require_size(sources.length_key, "positions", shape.length);
  require_size(sources.words_key, "words", shape.vocabulary);
  require_size("training.batch", "sequences", sequences);
  const double need = memory_need(shape, sequences), most = memory_limit();
  if (need <= most) return;
  const Suspect worst = worst_key(config, shape, sequences);
  const train::ModelMemory model = train::model_memory(shape, sequences);
  throw ConfigError(worst.key, joined(worst.value, " is too large here: the training would take ",
                                      memory_text(need), " of memory (", memory_text(model.parameters),
                                      " for parameters, gradients and moments, ",
                                      memory_text(need - model.parameters), " for the work on batches of ",
                                      sequences, " sequences), and there are ", memory_text(most)));
}

}  // namespace attend::learn
