#include "learn/model_folder.h"

#include <attend/save.h>

#include <nlohmann/json.hpp>

#include "learn/config_keys.h"
#include "save/output_file.h"

namespace attend::learn {
namespace {

using train::FeedForwardKind;
using train::ModelKind;
using train::ModelShape;

// BERT keeps queries, keys and values apart, and matrices as (out, in).
void add_bert(const std::string& name, TensorView value, std::int64_t hidden,
              std::vector<StoredTensor>& list) {
  if (name == "output") return;
  const auto add = [&](const std::string& as, TensorView tensor) {
    list.push_back({as, tensor.rank() == 2 ? tensor.transposed(0, 1) : tensor});
  };
  const std::string kind = name.ends_with(".weight") || name.ends_with(".gamma") ? ".weight" : ".bias";
  if (name == "words") return list.push_back({"embeddings.word_embeddings.weight", value});
  if (name == "positions") return list.push_back({"embeddings.position_embeddings.weight", value});
  if (name.starts_with("embedding.norm")) return add("embeddings.LayerNorm" + kind, value);
  const std::size_t dot = name.find('.', 6);  // behind "layer.N"
  const std::string layer = "encoder.layer." + name.substr(6, dot - 6) + ".", rest = name.substr(dot + 1);
  if (rest.starts_with("attention.qkv")) {
    const int axis = value.rank() - 1;
    std::int64_t place = 0;
    for (const char* const part : {"query", "key", "value"}) {
      add(layer + "attention.self." + part + kind, value.slice(axis, place * hidden, (place + 1) * hidden));
      ++place;
    }
    return;
  }
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"attention.out", "attention.output.dense"},
      {"attention.norm", "attention.output.LayerNorm"},
      {"feed_forward.up", "intermediate.dense"},
      {"feed_forward.down", "output.dense"},
      {"feed_forward.norm", "output.LayerNorm"}};
  for (const auto& [ours, theirs] : kNames) {
    if (rest.starts_with(ours)) add(layer + std::string(theirs) + kind, value);
  }
}

}  // namespace

std::string gpt2_name(const std::string& name) {
  if (name == "words") return "wte.weight";
  if (name == "positions") return "wpe.weight";
  if (name == "norm.gamma") return "ln_f.weight";
  if (name == "norm.beta") return "ln_f.bias";
  const std::size_t dot = name.find('.', 6);  // behind "layer.N"
  const std::string layer = "h." + name.substr(6, dot - 6) + ".", rest = name.substr(dot + 1);
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"attention.norm.gamma", "ln_1.weight"},           {"attention.norm.beta", "ln_1.bias"},
      {"feed_forward.norm.gamma", "ln_2.weight"},        {"feed_forward.norm.beta", "ln_2.bias"},
      {"attention.qkv.weight", "attn.c_attn.weight"},    {"attention.qkv.bias", "attn.c_attn.bias"},
      {"attention.out.weight", "attn.c_proj.weight"},    {"attention.out.bias", "attn.c_proj.bias"},
      {"feed_forward.up.weight", "mlp.c_fc.weight"},     {"feed_forward.up.bias", "mlp.c_fc.bias"},
      {"feed_forward.down.weight", "mlp.c_proj.weight"}, {"feed_forward.down.bias", "mlp.c_proj.bias"}};
  for (const auto& [ours, theirs] : kNames) {
    if (rest == ours) return layer + std::string(theirs);
  }
  return name;
}

bool is_gpt2(const ModelShape& shape) {
  return shape.mixer == train::MixerKind::attention && shape.kind == ModelKind::decoder && shape.norm_first &&
         shape.norm == train::NormKind::layer && shape.feed_forward != FeedForwardKind::swiglu &&
         shape.positions == train::PositionKind::learned && shape.tied && shape.scaled;
}

bool is_bert(const ModelShape& shape) {
  return shape.kind == ModelKind::encoder && !shape.norm_first && shape.norm == train::NormKind::layer &&
         shape.feed_forward != FeedForwardKind::swiglu && shape.positions == train::PositionKind::learned &&
         shape.scaled;
}

std::vector<StoredTensor> stored_tensors(train::Model& model, TensorView zeros) {
  train::Parameters& parameters = model.parameters();
  const bool gpt2 = is_gpt2(model.shape()), bert = is_bert(model.shape());
  std::vector<StoredTensor> list;
  for (int i = 0; i < parameters.count(); ++i) {
    const std::string& name = parameters[i].name;
    if (bert) {
      add_bert(name, parameters.value(i), model.shape().hidden, list);
      continue;
    }
    list.push_back({gpt2 ? gpt2_name(name) : name, parameters.value(i)});
  }
  if (bert) list.push_back({"embeddings.token_type_embeddings.weight", zeros});
  return list;
}

std::string config_json(const ModelShape& shape, std::optional<std::int32_t> start) {
  nlohmann::ordered_json json;
  if (is_gpt2(shape)) {
    json = {{"model_type", "gpt2"},
            {"architectures", {"GPT2LMHeadModel"}},
            {"vocab_size", shape.vocabulary},
            {"n_positions", shape.length},
            {"n_embd", shape.hidden},
            {"n_layer", shape.layers},
            {"n_head", shape.heads},
            {"n_inner", shape.inner},
            {"activation_function", shape.feed_forward == FeedForwardKind::gelu ? "gelu" : "gelu_new"},
            {"layer_norm_epsilon", shape.epsilon},
            {"tie_word_embeddings", true},
            {"bos_token_id", nullptr},
            {"eos_token_id", nullptr}};
  } else if (is_bert(shape)) {
    json = {{"model_type", "bert"},
            {"architectures", {"BertModel"}},
            {"vocab_size", shape.vocabulary},
            {"max_position_embeddings", shape.length},
            {"hidden_size", shape.hidden},
            {"num_hidden_layers", shape.layers},
            {"num_attention_heads", shape.heads},
            {"intermediate_size", shape.inner},
            {"type_vocab_size", 2},
            {"hidden_act", shape.feed_forward == FeedForwardKind::gelu ? "gelu" : "gelu_new"},
            {"layer_norm_eps", shape.epsilon},
            {"pad_token_id", nullptr}};
  } else {
    const auto name = [](auto choice) { return names_of(choice)[static_cast<std::size_t>(choice)]; };
    json = {{"model_type", "attend"},
            {"kind", kKindNames[static_cast<std::size_t>(shape.kind)]},
            {"mixer", name(shape.mixer)},
            {"vocab_size", shape.vocabulary},
            {"length", shape.length},
            {"layers", shape.layers},
            {"hidden", shape.hidden},
            {"heads", shape.heads},
            {"inner", shape.inner},
            {"norm_first", shape.norm_first},
            {"norm", name(shape.norm)},
            {"feed_forward", name(shape.feed_forward)},
            {"positions", name(shape.positions)},
            {"tied", shape.tied},
            {"scaled", shape.scaled},
            {"epsilon", shape.epsilon}};
    if (start) json["decoder_start_token_id"] = *start;
  }
  return json.dump(2) + "\n";
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  save::OutputFile out(file);
  out.write(bytes);
  out.commit();
}

void save_model_folder(const std::filesystem::path& folder, train::Model& model,
                       const std::string& tokenizer_json, std::optional<std::int32_t> start) {
  write_file(folder / kConfigFile, config_json(model.shape(), start));
  write_file(folder / kTokenizerFile, tokenizer_json);
  Tensor zeros(DType::f32, {2, model.shape().hidden});
  std::vector<NamedTensor> tensors;
  for (const StoredTensor& stored : stored_tensors(model, zeros))
    tensors.push_back({stored.name, stored.tensor});
  save_safetensors(folder / kWeightsFile, tensors, {{"format", "pt"}});
}

}  // namespace attend::learn
