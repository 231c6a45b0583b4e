#include "learn/stored_model.h"

#include <attend/file_error.h>
#include <attend/model_config.h>

#include "base/error.h"
#include "checkpoint/json_fields.h"
#include "learn/config_keys.h"
#include "learn/model_folder.h"

namespace attend::learn {
namespace {

using checkpoint::JsonFields;

// Sizes that no memory holds are refused before anything is made of them.
constexpr std::int64_t kMost = std::int64_t{1} << 24;

JsonFields fields_of(const std::filesystem::path& config_json) {
  return JsonFields(checkpoint::read_text(checkpoint::InputFile(config_json), checkpoint::kMaxConfigBytes));
}

template <class Choice, class Names>
void read_choice(const JsonFields& fields, std::string_view key, const Names& names, Choice& value) {
  const std::string_view text = fields.string(key);
  std::string known;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (names[i] == text) {
      value = static_cast<Choice>(i);
      return;
    }
    known.append(known.empty() ? "" : ", ").append(names[i]);
  }
  fields.refuse(key, '"', checkpoint::shown(text), "\" is not one of ", known);
}

}  // namespace

StoredShape shape_from_json(const std::filesystem::path& config_json) {
  const JsonFields fields = fields_of(config_json);
  if (fields.string("model_type") != "attend") {
    fields.refuse("model_type", '"', checkpoint::shown(fields.string("model_type")),
                  "\" is not attend's own");
  }
  StoredShape stored;
  train::ModelShape& shape = stored.shape;
  read_choice(fields, "kind", kKindNames, shape.kind);
  if (fields.has("mixer")) read_choice(fields, "mixer", names_of(shape.mixer), shape.mixer);
  read_choice(fields, "norm", names_of(shape.norm), shape.norm);
  read_choice(fields, "feed_forward", names_of(shape.feed_forward), shape.feed_forward);
  read_choice(fields, "positions", names_of(shape.positions), shape.positions);
  shape.vocabulary = fields.integer({"vocab_size"}, 1, kMost);
  shape.length = fields.integer({"length"}, 1, kMost);
  shape.layers = fields.integer({"layers"}, 1, kMost);
  shape.hidden = fields.integer({"hidden"}, 1, kMost);
  shape.heads = fields.integer({"heads"}, 1, kMost);
  shape.inner = fields.integer({"inner"}, 1, kMost);
  shape.norm_first = fields.boolean("norm_first", shape.norm_first);
  shape.tied = fields.boolean("tied", shape.tied);
  shape.scaled = fields.boolean("scaled", shape.scaled);
  shape.epsilon = fields.number("epsilon", shape.epsilon);
  if (fields.has("decoder_start_token_id")) {
    stored.start =
        static_cast<std::int32_t>(fields.integer({"decoder_start_token_id"}, 0, shape.vocabulary - 1));
  }
  try {
    train::check(shape);
  } catch (const std::invalid_argument& error) {
    throw FileError(fields.file(), "", error.what());
  }
  return stored;
}

StoredModel::StoredModel(const ModelFiles& files) : checkpoint_(Checkpoint::open(files.weights)) {
  if (fields_of(files.config).string("model_type") != "attend") {
    read_gpt2(files);
    return;
  }
  stored_ = shape_from_json(files.config);
  if (shape().feed_forward == train::FeedForwardKind::gelu) activation_ = Activation::gelu;
  if (shape().feed_forward == train::FeedForwardKind::gelu_tanh) activation_ = Activation::gelu_tanh;
}

void StoredModel::read_gpt2(const ModelFiles& files) {
  const ModelConfig config = read_model_config(files.config);
  if (config.family != ModelFamily::gpt2) {
    throw FileError(files.config.string(), "model_type",
                    joined('"', config.model_type, "\" cannot write; gpt2 can, and what attend trained"));
  }
  gpt2_ = true;
  prefix_ = checkpoint_.contains("wte.weight") ? "" : "transformer.";
  activation_ = config.activation;
  stored_.shape = {.vocabulary = config.vocabulary_size,
                   .length = config.max_tokens(),
                   .layers = config.layers,
                   .hidden = config.hidden_size,
                   .heads = config.heads,
                   .inner = config.intermediate_size,
                   .tied = config.tied_embeddings || !checkpoint_.contains("lm_head.weight"),
                   .epsilon = config.layer_norm_eps};
}

ConstTensorView StoredModel::tensor(const std::string& name, const Dims& shape) const {
  return checkpoint_.tensor(gpt2_ ? prefix_ + gpt2_name(name) : name, shape);
}

ConstTensorView StoredModel::output() const {
  const std::int64_t words = shape().vocabulary, e = shape().hidden;
  if (shape().tied) return tensor("words", {words, e}).transposed(0, 1);
  if (gpt2_) return checkpoint_.tensor("lm_head.weight", {words, e}).transposed(0, 1);
  return tensor("output", {e, words});
}

}  // namespace attend::learn
