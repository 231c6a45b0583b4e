#include "learn/stored_model.h"

#include <attend/file_error.h>

#include "base/error.h"
#include "learn/model_folder.h"

namespace attend::learn {

train::ModelShape shape_of(const ModelConfig& config) {
  using train::FeedForwardKind;
  using train::ModelKind;
  return {.kind = config.encoder_layers > 0 ? ModelKind::encoder_decoder
                  : config.causal           ? ModelKind::decoder
                                            : ModelKind::encoder,
          .vocabulary = config.vocabulary_size,
          .length = config.max_tokens(),
          .layers = config.encoder_layers > 0 ? config.encoder_layers : config.layers,
          .hidden = config.hidden_size,
          .heads = config.heads,
          .inner = config.intermediate_size,
          .norm_first = config.norm_first,
          .norm = config.norm,
          .feed_forward = config.gated                            ? FeedForwardKind::swiglu
                          : config.activation == Activation::gelu ? FeedForwardKind::gelu
                                                                  : FeedForwardKind::gelu_tanh,
          .positions = config.position_kind,
          .tied = config.tied_embeddings,
          .scaled = config.scaled,
          .epsilon = config.layer_norm_eps};
}

StoredModel::StoredModel(const ModelFiles& files)
    : config_(read_model_config(files.config)),
      checkpoint_(Checkpoint::open(files.weights)),
      shape_(shape_of(config_)) {
  if (!gpt2() && config_.family != ModelFamily::attend) {
    throw FileError(files.config.string(), "model_type",
                    joined('"', config_.model_type, "\" cannot write; gpt2 can, and what attend trained"));
  }
  if (!gpt2()) return;
  prefix_ = checkpoint_.contains("wte.weight") ? "" : "transformer.";
  shape_.tied = config_.tied_embeddings || !checkpoint_.contains("lm_head.weight");
}

ConstTensorView StoredModel::tensor(const std::string& name, const Dims& shape) const {
  return checkpoint_.tensor(gpt2() ? prefix_ + gpt2_name(name) : name, shape);
}

ConstTensorView StoredModel::output() const {
  const std::int64_t words = shape().vocabulary, e = shape().hidden;
  if (shape().tied) return tensor("words", {words, e}).transposed(0, 1);
  if (gpt2()) return checkpoint_.tensor("lm_head.weight", {words, e}).transposed(0, 1);
  return tensor("output", {e, words});
}

}  // namespace attend::learn
