#include <attend/model_description.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/file_error.h"
#include "support/temporary_folder.h"

namespace attend {
namespace {

ModelDescription config_of(const std::string& text) {
  const TemporaryFolder folder;
  return read_model_description(folder.write("config.json", text));
}

// A small BERT, with more keys at its end; a repeated key would be refused, so `without` removes one.
std::string bert(const std::string& more = "", const std::string& without = "") {
  std::string text = R"({"model_type":"bert")";
  for (const char* const field :
       {R"("hidden_size":24)", R"("num_hidden_layers":2)", R"("num_attention_heads":4)",
        R"("intermediate_size":48)", R"("vocab_size":100)", R"("max_position_embeddings":16)"}) {
    if (without.empty() || std::string(field).find('"' + without + '"') != 0) text.append(",").append(field);
  }
  return text + (more.empty() ? "" : "," + more) + "}";
}

TEST(ModelDescription, Bert) {
  const ModelDescription config =
      config_of(bert(R"("hidden_act":"gelu_new","type_vocab_size":3,"pad_token_id":0,
    "layer_norm_eps":1e-5,"architectures":["BertModel"],"position_embedding_type":"absolute","torch_dtype":"float32",
    "id2label":{"0":"no","1":"yes"},"classifier_dropout":null)"));
  EXPECT_EQ(config.family, "bert");
  EXPECT_EQ(config.architectures, (std::vector<std::string>{"BertModel"}));
  EXPECT_EQ(config.hidden_size, 24);
  EXPECT_EQ(config.layer_count(), 2);
  EXPECT_EQ(config.heads(), 4);
  EXPECT_EQ(config.largest_inner_size(), 48);
  EXPECT_EQ(config.vocabulary_size, 100);
  EXPECT_EQ(config.max_tokens(), 16);
  EXPECT_EQ(config.token_types, 3);
  EXPECT_EQ(config.layers[0].feed_forward->activation, Activation::gelu_tanh);
  EXPECT_EQ(config.layers[0].norm.epsilon, 1e-5);
  EXPECT_EQ(config.pad_token, 0);
  EXPECT_FALSE(config.is_causal());
}

TEST(ModelDescription, WhatAFileMayLeaveOut) {
  const ModelDescription config = config_of(bert());
  EXPECT_EQ(config.layers[0].feed_forward->activation, Activation::gelu);
  EXPECT_EQ(config.layers[0].norm.epsilon, 1e-12);
  EXPECT_EQ(config.token_types, 2);
  EXPECT_EQ(config.pad_token, std::nullopt);
}

TEST(ModelDescription, RobertaCountsPositionsFromItsPadding) {
  const std::string sizes =
      R"(,"hidden_size":24,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":48,
    "vocab_size":100,"max_position_embeddings":18,"type_vocab_size":1)";
  const ModelDescription config = config_of(R"({"model_type":"roberta","pad_token_id":1)" + sizes + "}");
  EXPECT_EQ(config.family, "roberta");
  EXPECT_EQ(config.first_position, 2);
  EXPECT_EQ(config.max_tokens(), 16);
  EXPECT_EQ(config_of(R"({"model_type":"xlm-roberta","pad_token_id":3)" + sizes + "}").first_position, 4);
  EXPECT_EQ(config_of(R"({"model_type":"xlm-roberta")" + sizes + "}").model_type, "xlm-roberta");
  EXPECT_FILE_ERROR(config_of(R"({"model_type":"roberta","pad_token_id":20)" + sizes + "}"),
                    "max_position_embeddings", "18 leaves no position for a token");
}

TEST(ModelDescription, ActivationsByTheirNames) {
  const auto activation = [](const std::string& name) {
    return config_of(bert(R"("hidden_act":")" + name + "\"")).layers[0].feed_forward->activation;
  };
  for (const char* const name : {"gelu", "gelu_python"})
    EXPECT_EQ(activation(name), Activation::gelu) << name;
  for (const char* const name : {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"})
    EXPECT_EQ(activation(name), Activation::gelu_tanh) << name;
  EXPECT_EQ(activation("relu"), Activation::relu);
  EXPECT_FILE_ERROR(activation("silu"), "hidden_act",
                    "\"silu\" is not an activation that attend supports: gelu, gelu_new, relu");
}

TEST(ModelDescription, DistilBertHasNamesOfItsOwn) {
  const ModelDescription config =
      config_of(R"({"model_type":"distilbert","dim":24,"n_layers":3,"n_heads":2,"hidden_dim":96,
    "vocab_size":50,"max_position_embeddings":8,"activation":"gelu_new","sinusoidal_pos_embds":false,"pad_token_id":0})");
  EXPECT_EQ(config.family, "distilbert");
  EXPECT_EQ(config.hidden_size, 24);
  EXPECT_EQ(config.layer_count(), 3);
  EXPECT_EQ(config.heads(), 2);
  EXPECT_EQ(config.largest_inner_size(), 96);
  EXPECT_EQ(config.layers[0].feed_forward->activation, Activation::gelu_tanh);
  EXPECT_EQ(config.token_types, 0);
}

TEST(ModelDescription, MpnetHasRelativePositions) {
  const std::string text =
      R"({"model_type":"mpnet","hidden_size":24,"num_hidden_layers":2,"num_attention_heads":4,
    "intermediate_size":48,"vocab_size":100,"max_position_embeddings":18,"pad_token_id":1)";
  const ModelDescription config = config_of(text + "}");
  EXPECT_EQ(config.layers[0].attention.relative_buckets.buckets, 32);
  EXPECT_EQ(config.layers[0].attention.relative_buckets.max_distance, 128);
  EXPECT_EQ(config.first_position, 2);
  EXPECT_EQ(config.token_types, 0);
  EXPECT_FILE_ERROR(config_of(text + R"(,"relative_attention_num_buckets":16})"),
                    "relative_attention_num_buckets", "16 is not between 32 and 32");
}

TEST(ModelDescription, Gpt2IsCausal) {
  const std::string text =
      R"({"model_type":"gpt2","n_embd":24,"n_layer":2,"n_head":4,"vocab_size":100,"n_positions":32)";
  const ModelDescription config = config_of(text + R"(,"n_inner":null,"n_ctx":32})");
  EXPECT_TRUE(config.is_causal());
  EXPECT_EQ(config.largest_inner_size(), 96);
  EXPECT_EQ(config.layers[0].feed_forward->activation, Activation::gelu_tanh);
  EXPECT_EQ(config.layers[0].norm.epsilon, 1e-5);
  EXPECT_EQ(config_of(text + R"(,"n_inner":10})").largest_inner_size(), 10);
  EXPECT_FILE_ERROR(config_of(text + R"(,"scale_attn_weights":false})"), "scale_attn_weights",
                    "false is not supported");
  EXPECT_FILE_ERROR(config_of(text + R"(,"scale_attn_by_inverse_layer_idx":true})"),
                    "scale_attn_by_inverse_layer_idx", "true is not supported");
}

TEST(ModelDescription, AnOldConfigNamesItsClassAlone) {
  const std::pair<const char*, const char*> classes[] = {
      {"BertModel", "bert"},
      {"BertForMaskedLM", "bert"},
      {"RobertaForSequenceClassification", "roberta"},
      {"XLMRobertaModel", "xlm-roberta"},
  };
  const std::string sizes =
      R"("hidden_size":24,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":48,"vocab_size":100,)"
      R"("max_position_embeddings":16,"pad_token_id":1,"architectures":[")";
  for (const auto& [name, type] : classes) {
    const std::string rest = sizes + name + R"("]})";
    const ModelDescription with = config_of(R"({"model_type":")" + std::string(type) + R"(",)" + rest);
    const ModelDescription without = config_of("{" + rest);
    EXPECT_EQ(without.model_type, type) << name;
    EXPECT_EQ(without.family, with.family) << name;
    EXPECT_EQ(without.max_tokens(), with.max_tokens()) << name;
  }
}

struct BadConfig {
  std::string text;
  const char* where;
  const char* rule;
};

TEST(ModelDescription, RefusesByKeyAndRule) {
  const BadConfig cases[] = {
      {"", "byte 0", "expected a value, found the end"},
      {"[]", "", "expected an object"},
      {"{}", "model_type", "is missing, and so is architectures"},
      {R"({"architectures":["MambaModel"]})", "model_type",
       "is missing, and \"MambaModel\" of architectures is not a model that attend supports"},
      {R"({"architectures":["BertIsh"]})", "model_type", "\"BertIsh\" of architectures is not a model"},
      {R"({"model_type":null})", "model_type", "is missing"},
      {R"({"model_type":7})", "model_type", "expected a string"},
      {R"({"model_type":"mamba"})", "model_type",
       "\"mamba\" is not a family that attend supports: bert, roberta"},
      {R"({"model_type":"bert\u001b[2J"})", "model_type", "bert\\x1b[2J"},
      {bert("", "hidden_size"), "hidden_size", "is missing"},
      {bert("", "num_attention_heads"), "num_attention_heads", "is missing"},
      {bert(R"("hidden_size":"24")", "hidden_size"), "hidden_size", "expected a whole number"},
      {bert(R"("hidden_size":24.0)", "hidden_size"), "hidden_size", "expected a whole number, found 24.0"},
      {bert(R"("hidden_size":-24)", "hidden_size"), "hidden_size", "-24 is not between 1 and 16777216"},
      {bert(R"("hidden_size":0)", "hidden_size"), "hidden_size", "0 is not between"},
      {bert(R"("hidden_size":4294967320)", "hidden_size"), "hidden_size", "is not between"},
      {bert(R"("hidden_size":99999999999999999999)", "hidden_size"), "hidden_size", "is not between"},
      {bert(R"("hidden_size":25)", "hidden_size"), "num_attention_heads",
       "4 does not divide the hidden size 25"},
      {bert(R"("num_hidden_layers":1000000)", "num_hidden_layers"), "num_hidden_layers",
       "is not between 1 and 4096"},
      {bert(R"("vocab_size":-1)", "vocab_size"), "vocab_size", "-1 is not between"},
      {bert(R"("vocab_size":5)"), "", "\"vocab_size\" twice"},
      {bert(R"("pad_token_id":100)"), "pad_token_id", "100 is not between 0 and 99"},
      {bert(R"("pad_token_id":-1)"), "pad_token_id", "-1 is not between"},
      {bert(R"("type_vocab_size":-2)"), "type_vocab_size", "-2 is not between"},
      {bert(R"("layer_norm_eps":0)"), "layer_norm_eps", "0 is not between 0 and 1"},
      {bert(R"("layer_norm_eps":-1e-5)"), "layer_norm_eps", "is not between 0 and 1"},
      {bert(R"("layer_norm_eps":1e999)"), "layer_norm_eps", "outside the range"},
      {bert(R"("hidden_act":"swish")"), "hidden_act", "\"swish\" is not an activation that attend supports"},
      {bert(R"("position_embedding_type":"relative_key")"), "position_embedding_type",
       "\"relative_key\" is not supported"},
      {bert(R"("position_embedding_type":"alibi")"), "position_embedding_type", "\"alibi\" is not supported"},
      {bert(R"("quantization_config":{"bits":4})"), "quantization_config", "quantized weights"},
      {bert(R"("is_decoder":true)"), "is_decoder", "true is not supported"},
      {bert(R"("add_cross_attention":true)"), "add_cross_attention", "true is not supported"},
      {bert(R"("auto_map":{"AutoModel":"code.Model"})"), "auto_map", "program code"},
      {bert(R"("architectures":[1])"), "architectures", "expected a list of strings"},
  };
  for (const BadConfig& bad : cases) EXPECT_FILE_ERROR(config_of(bad.text), bad.where, bad.rule) << bad.text;
}

TEST(ModelDescription, CutAtEveryByteIsRefused) {
  const std::string whole = bert();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(config_of(whole.substr(0, size)), FileError) << size;
  }
}

TEST(ModelDescription, LargeFilesAreNotRead) {
  const TemporaryFolder folder;
  const auto path = folder.write("config.json", "{");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // of holes
  EXPECT_FILE_ERROR(read_model_description(path), "", "expected at most 4194304");
}

TEST(ModelDescription, OwnModelsMayShareKeysAndSeeAWindow) {
  const std::string own =
      R"({"model_type":"attend","kind":"decoder","vocab_size":9,"length":8,"layers":2,"hidden":16,"heads":4,"inner":10,
    "norm":"rms","feed_forward":"swiglu","positions":"rotary")";
  const ModelDescription usual = config_of(own + R"(,"head_size":4})");
  EXPECT_EQ(usual.layer(1).attention.key_heads, 4);
  EXPECT_EQ(usual.layer(1).attention.window.left, Window::kUnlimited);
  const ModelDescription config = config_of(own + R"(,"key_heads":2,"head_size":6,"window":3})");
  EXPECT_EQ(config.layer(2).attention.key_heads, 2);
  EXPECT_EQ(config.layer(2).attention.head_size, 6);
  EXPECT_EQ(config.layer(2).attention.window.left, 3);
  EXPECT_FILE_ERROR(config_of(own + R"(,"head_size":4,"key_heads":3})"), "key_heads",
                    "3 does not divide the 4 heads");
  EXPECT_FILE_ERROR(config_of(own + R"(,"head_size":4,"window":-1})"), "window", "-1");
}

}  // namespace
}  // namespace attend
