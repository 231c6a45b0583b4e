// Models that read, as GGUF files store them.
#include "model/families/gguf_form.h"
#include "model/families/gguf_keys.h"

namespace attend::model {
namespace {

ModelDescription gguf_encoder(const GgufKeys& keys, LayerDescription layer) {
  layer.norm = {.place = NormPlace::after, .epsilon = keys.epsilon("attention.layer_norm_epsilon")};
  ModelDescription description = gguf_model(keys, layer);
  description.embedding_norm = layer.norm;
  description.tied_output = true;
  if (keys.has_tensor("token_types.weight")) {
    const Dims types = keys.shape("token_types.weight");
    description.token_types = types.rank() == 2 ? types[0] : 1;
  }
  return description;
}

ModelDescription describe_gguf_bert(const GgufKeys& keys) {
  ModelDescription description = gguf_encoder(keys, {.feed_forward = FeedForwardDescription{}});
  // RoBERTa's rows before the first token's are cut off, so that there may be fewer than the context.
  description.position_count = keys.shape("position_embd.weight")[0];
  return description;
}

ModelDescription describe_gguf_nomic_bert(const GgufKeys& keys) {
  LayerDescription layer{.feed_forward =
                             FeedForwardDescription{.activation = Activation::silu, .gated = true}};
  layer.attention.positions = PositionKind::rotary;
  ModelDescription description = gguf_encoder(keys, layer);
  description.positions = PositionKind::none;
  return description;
}

TensorNames name_gguf_encoder(const ModelDescription& description, const TensorSource& tensors) {
  TensorNames names = gguf_tensor_names(description, tensors);
  names.final_norm.clear();
  if (description.token_types == 0) names.types.clear();
  for (std::size_t i = 0; i < names.layers.size(); ++i) {
    const std::string block = "blk." + std::to_string(i) + ".";
    names.layers[i].attention_norm = block + "attn_output_norm";
    names.layers[i].feed_forward_norm = block + "layer_output_norm";
  }
  names.output = {.dense = "masked_token_head"};  // no such file has one, whatever its name would be
  return names;
}

}  // namespace

constinit const GgufForm kGgufBert{"bert", "bert", describe_gguf_bert, name_gguf_encoder};
constinit const GgufForm kGgufNomicBert{"nomic-bert", "nomic_bert", describe_gguf_nomic_bert,
                                        name_gguf_encoder};

}  // namespace attend::model
