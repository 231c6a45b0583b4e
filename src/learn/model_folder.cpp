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

// "layer.0.attention.qkv.weight" as GPT-2 has it. Its matrices are (in, out) too.
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

}  // namespace

bool is_gpt2(const ModelShape& shape) {
  return shape.kind == ModelKind::decoder && shape.norm_first && shape.norm == train::NormKind::layer &&
         shape.feed_forward != FeedForwardKind::swiglu && shape.positions == train::PositionKind::learned &&
         shape.tied && shape.scaled;
}

std::vector<StoredTensor> stored_tensors(train::Model& model) {
  train::Parameters& parameters = model.parameters();
  const bool gpt2 = is_gpt2(model.shape());
  std::vector<StoredTensor> list;
  for (int i = 0; i < parameters.count(); ++i) {
    const std::string& name = parameters[i].name;
    list.push_back({gpt2 ? gpt2_name(name) : name, parameters.value(i)});
  }
  return list;
}

std::string config_json(const ModelShape& shape) {
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
  } else {
    constexpr std::string_view kKinds[] = {"encoder", "decoder", "encoder_decoder"};
    const auto name = [](auto choice) { return names_of(choice)[static_cast<std::size_t>(choice)]; };
    json = {{"model_type", "attend"},
            {"kind", kKinds[static_cast<std::size_t>(shape.kind)]},
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
  }
  return json.dump(2) + "\n";
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  save::OutputFile out(file);
  out.write(bytes);
  out.commit();
}

void save_model_folder(const std::filesystem::path& folder, train::Model& model,
                       const std::string& tokenizer_json) {
  write_file(folder / "config.json", config_json(model.shape()));
  write_file(folder / "tokenizer.json", tokenizer_json);
  std::vector<NamedTensor> tensors;
  for (const StoredTensor& stored : stored_tensors(model)) tensors.push_back({stored.name, stored.tensor});
  save_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
}

}  // namespace attend::learn
