// What config.json says of ModernBERT, Nomic BERT, ELECTRA, ALBERT and T5, and what is refused.
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>

#include "model/random_checkpoint.h"
#include "model/small_models.h"
#include "support/file_error.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr const char* kSizes =
    R"("hidden_size":24,"num_attention_heads":4,"intermediate_size":48,"vocab_size":100,"max_position_embeddings":16)";

std::string encoder_json(const std::string& type, const std::string& more = "", int layers = 4) {
  return R"({"model_type":")" + type + R"(","num_hidden_layers":)" + std::to_string(layers) + "," + kSizes +
         (more.empty() ? "" : "," + more) + "}";
}

TEST(EncoderFamilies, ElectraHasAProjectionWhereItsTablesAreOfAnotherSize) {
  EXPECT_EQ(described(encoder_json("electra")).embedding_size, 128);
  EXPECT_EQ(described(encoder_json("electra", R"("embedding_size":12)")).table_size(), 12);
  const ModelDescription same = described(encoder_json("electra", R"("embedding_size":24)"));
  EXPECT_EQ(same.embedding_size, std::nullopt);
  EXPECT_EQ(same.table_size(), 24);
  EXPECT_FILE_ERROR(described(encoder_json("electra", R"("embedding_size":0)")), "embedding_size",
                    "0 is not between");
  EXPECT_FILE_ERROR(described(encoder_json("electra", R"("embedding_size":99999999999)")), "embedding_size",
                    "is not between");
}

TEST(EncoderFamilies, LayersOfAnAlbertShareTheirWeights) {
  const ModelDescription one = described(encoder_json("albert", R"("embedding_size":24)"));
  EXPECT_EQ(one.embedding_size, 24);  // it has a projection whatever its size is
  EXPECT_EQ(one.layers[0].feed_forward->activation, Activation::gelu_tanh);
  EXPECT_EQ(one.layers[0].weights_of, std::nullopt);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(one.layers[i].weights_of, 1);
  const ModelDescription two = described(encoder_json("albert", R"("num_hidden_groups":2)", 5));
  const std::vector<std::optional<std::int64_t>> expected{std::nullopt, 1, 1, std::nullopt, 4};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(two.layers[i].weights_of, expected[i]) << i;
  EXPECT_FILE_ERROR(described(encoder_json("albert", R"("inner_group_num":2)")), "inner_group_num",
                    "groups of several layers are not supported, expected 1");
  EXPECT_FILE_ERROR(described(encoder_json("albert", R"("num_hidden_groups":5)")), "num_hidden_groups",
                    "5 is not between 1 and 4");
  EXPECT_FILE_ERROR(described(encoder_json("albert", R"("num_hidden_groups":0)")), "num_hidden_groups",
                    "0 is not between 1 and 4");
}

TEST(EncoderFamilies, WhatLayersShareIsPackedOnce) {
  const ModelDescription config = described(encoder_json("albert", R"("embedding_size":8)"));
  const RandomCheckpoint checkpoint(config);
  TensorSource source = checkpoint.source();
  std::map<std::string, int> packed;
  source.forget = [&](const std::string& name) { ++packed[name]; };
  const Transformer transformer(config, source);
  EXPECT_EQ(packed.size(), 7U);  // q, k, v, out, up, down and the projection
  for (const auto& [name, times] : packed) EXPECT_EQ(times, 1) << name;
}

void expect_same_layers(const ModelDescription& a, const ModelDescription& b) {
  ASSERT_EQ(a.layer_count(), b.layer_count());
  for (std::int64_t i = 1; i <= a.layer_count(); ++i) {
    EXPECT_EQ(a.layer(i).attention.rotary.base, b.layer(i).attention.rotary.base) << i;
    EXPECT_EQ(a.layer(i).attention.window.left, b.layer(i).attention.window.left) << i;
    EXPECT_EQ(a.layer(i).attention.window.right, b.layer(i).attention.window.right) << i;
  }
}

TEST(EncoderFamilies, ModernbertSaysItsLayersInTwoForms) {
  const ModelDescription older = described(encoder_json("modernbert", R"("local_attention":9,
      "global_attn_every_n_layers":2,"global_rope_theta":500.0,"local_rope_theta":70)"));
  EXPECT_FALSE(older.layer(1).attention_norm);
  EXPECT_TRUE(older.layer(2).attention_norm);
  EXPECT_FALSE(older.layer(2).norm.bias);
  EXPECT_FALSE(older.final_norm->bias);
  EXPECT_FALSE(older.embedding_norm->bias);
  EXPECT_TRUE(older.layer(1).feed_forward->gated);
  EXPECT_EQ(older.layer(1).attention.window.left, Window::kUnlimited);
  EXPECT_EQ(older.layer(1).attention.rotary.base, 500);
  EXPECT_EQ(older.layer(2).attention.window.left, 4);
  EXPECT_EQ(older.layer(2).attention.window.right, 4);
  EXPECT_EQ(older.layer(2).attention.rotary.base, 70);
  EXPECT_EQ(older.positions, PositionKind::none);
  expect_same_layers(older, described(encoder_json("modernbert", R"("local_attention":9,
      "layer_types":["full_attention","sliding_attention","full_attention","sliding_attention"],
      "rope_parameters":{"full_attention":{"rope_type":"default","rope_theta":500},
                         "sliding_attention":{"rope_type":"default","rope_theta":70.0}})")));
  const ModelDescription usual = described(encoder_json("modernbert"));
  EXPECT_EQ(usual.layer(4).attention.rotary.base, 160000);
  EXPECT_EQ(usual.layer(3).attention.rotary.base, 10000);
  EXPECT_EQ(usual.layer(3).attention.window.right, 64);
  // null: that of the other layers.
  EXPECT_EQ(
      described(encoder_json("modernbert", R"("local_rope_theta":null)")).layer(2).attention.rotary.base,
      160000);
}

TEST(EncoderFamilies, ModernbertRefusesByKeyAndRule) {
  const auto refuses = [](const std::string& more, const std::string& where, const std::string& rule) {
    EXPECT_FILE_ERROR(described(encoder_json("modernbert", more)), where, rule) << more;
  };
  refuses(R"("layer_types":["full_attention"])", "layer_types", "has 1 names for 4 layers");
  refuses(R"("layer_types":["full_attention","chunked\u001b","full_attention","full_attention"])",
          "layer_types", "\"chunked\\x1b\" is not a kind of layer that attend supports");
  refuses(R"("layer_types":[1,2,3,4])", "layer_types", "expected a list of strings");
  refuses(R"("layer_types":"full_attention")", "layer_types", "expected a list");
  refuses(R"("global_attn_every_n_layers":0)", "global_attn_every_n_layers", "0 is not between 1");
  refuses(R"("local_attention":0)", "local_attention", "0 is not between 1");
  refuses(R"("local_attention":-1)", "local_attention", "-1 is not between 1");
  refuses(R"("global_rope_theta":0)", "global_rope_theta", "0 is not a positive number");
  refuses(R"("local_rope_theta":-3)", "local_rope_theta", "-3 is not a positive number");
  refuses(R"("rope_parameters":{"full_attention":{"rope_type":"yarn"}})",
          "rope_parameters.full_attention.rope_type", "\"yarn\" is not supported");
  refuses(R"("rope_parameters":{"full_attention":7})", "rope_parameters.full_attention",
          "expected an object");
  refuses(R"("rope_parameters":[1])", "rope_parameters", "expected an object");
  refuses(R"("rope_scaling":{"type":"linear","factor":2})", "rope_scaling", "is not supported");
  refuses(R"("classifier_activation":"tanh")", "classifier_activation", "\"tanh\" is not supported");
  refuses(R"("hidden_activation":"mish")", "hidden_activation", "is not an activation that attend supports");
  refuses(R"("norm_eps":0)", "norm_eps", "0 is not between 0 and 1");
}

// A small Nomic BERT in its own keys.
std::string nomic(const std::string& more = "") {
  return R"({"model_type":"nomic_bert","n_embd":24,"n_head":4,"n_layer":2,"n_inner":48,"vocab_size":100,
    "n_positions":64,"max_trained_positions":32)" +
         (more.empty() ? "" : "," + more) + "}";
}

TEST(EncoderFamilies, NomicBertIsReadInItsOwnKeysAndInThoseOfTransformers) {
  const ModelDescription own = described(nomic(R"("activation_function":"swiglu","rotary_emb_base":1000,
      "auto_map":{"AutoModel":"code.NomicBertModel"},"rotary_scaling_factor":null,"num_experts":0)"));
  const ModelDescription other = described(encoder_json(
      "nomic_bert", R"("hidden_act":"silu","rope_parameters":{"rope_theta":1000.0,"rope_type":"default"})",
      2));
  expect_same_layers(own, other);
  for (const ModelDescription& config : {own, other}) {
    EXPECT_EQ(config.layer(1).attention.rotary.base, 1000);
    EXPECT_EQ(config.layer(1).feed_forward->activation, Activation::silu);
    EXPECT_TRUE(config.layer(1).feed_forward->gated);
    EXPECT_EQ(config.layer(1).feed_forward->size, 48);
    EXPECT_FALSE(config.layer(1).attention.bias);
    EXPECT_EQ(config.layer(1).norm.place, NormPlace::after);
    EXPECT_EQ(config.token_types, 2);
  }
  EXPECT_EQ(own.max_tokens(), 64);
  // Longer texts would be rotated otherwise.
  EXPECT_EQ(described(nomic(R"("rotary_scaling_factor":2)")).max_tokens(), 32);
  EXPECT_EQ(described(nomic(R"("rotary_emb_fraction":0.7)")).layer(1).attention.rotary.dimensions, 4);
  EXPECT_EQ(described(nomic(R"("rotary_emb_interleaved":true)")).layer(1).attention.rotary.pairing,
            RotaryPairing::interleaved);
}

TEST(EncoderFamilies, NomicBertRefusesByKeyAndRule) {
  const auto refuses = [](const std::string& more, const std::string& where, const std::string& rule) {
    EXPECT_FILE_ERROR(described(nomic(more)), where, rule) << more;
  };
  refuses(R"("num_experts":8)", "num_experts", "mixtures of experts are not supported");
  refuses(R"("moe_every_n_layers":2)", "moe_every_n_layers", "mixtures of experts are not supported");
  refuses(R"("prenorm":true)", "prenorm", "true is not supported");
  refuses(R"("causal":true)", "causal", "true is not supported");
  refuses(R"("use_rms_norm":true)", "use_rms_norm", "true is not supported");
  refuses(R"("parallel_block":true)", "parallel_block", "true is not supported");
  refuses(R"("rotary_emb_scale_base":512)", "rotary_emb_scale_base", "is not supported");
  refuses(R"("rotary_emb_fraction":0)", "rotary_emb_fraction", "cannot be rotated in pairs");
  refuses(R"("rotary_emb_fraction":1.5)", "rotary_emb_fraction", "cannot be rotated in pairs");
  refuses(R"("rotary_emb_fraction":0.5)", "rotary_emb_fraction", "cannot be rotated in pairs");  // 3 of 6
  refuses(R"("rotary_emb_base":0)", "rotary_emb_base", "0 is not a positive number");
  refuses(R"("activation_function":"glu")", "activation_function", "\"glu\" is not a gate");
  refuses(R"("mlp_fc1_bias":true,"mlp_fc2_bias":false)", "mlp_fc2_bias", "is not supported");
  refuses(R"("head_dim":8)", "head_dim", "expected the hidden size by the number of heads, 6");
  refuses(R"("rope_parameters":{"rope_type":"dynamic","factor":2})", "rope_parameters.rope_type",
          "\"dynamic\" is not supported");
}

std::string t5(const std::string& more = "") {
  return R"({"model_type":"t5","d_model":24,"num_heads":4,"d_kv":5,"d_ff":48,"num_layers":2,"vocab_size":100)" +
         (more.empty() ? "" : "," + more) + "}";
}

TEST(EncoderFamilies, T5IsAnEncoderAndADecoder) {
  const ModelDescription both = described(t5(R"("num_decoder_layers":3,"pad_token_id":7,"eos_token_id":1)"));
  EXPECT_EQ(both.encoder_layers, 2);
  EXPECT_EQ(both.layer_count(), 8);
  EXPECT_EQ(both.layer_name(8), "cross 3");
  EXPECT_EQ(both.start_token, 7);  // the padding, unless the file says which
  EXPECT_EQ(both.end_tokens, std::vector<std::int32_t>{1});
  EXPECT_EQ(described(t5(R"("decoder_start_token_id":3,"pad_token_id":7)")).start_token, 3);
  EXPECT_EQ(both.max_tokens(), 512);
  EXPECT_EQ(described(t5(R"("n_positions":64)")).max_tokens(), 64);
  EXPECT_EQ(both.layer(1).attention.head_size, 5);
  EXPECT_EQ(both.layer(1).attention.scale, 1);
  EXPECT_TRUE(both.layer(1).attention.relative_buckets.bidirectional);
  EXPECT_FALSE(both.layer(3).attention.relative_buckets.bidirectional);
  EXPECT_EQ(both.layer(4).attention.positions, PositionKind::none);
  EXPECT_FALSE(both.layer(3).feed_forward);
  EXPECT_EQ(both.layer(4).feed_forward->activation, Activation::relu);
  EXPECT_DOUBLE_EQ(both.output_scale, 1 / std::sqrt(24.0));
  EXPECT_EQ(described(t5(R"("tie_word_embeddings":false)")).output_scale, 1);
  // As transformers 5 writes it.
  EXPECT_EQ(described(t5(R"("tie_word_embeddings":true,"scale_decoder_outputs":false)")).output_scale, 1);
  const ModelDescription gated = described(t5(R"("feed_forward_proj":"gated-gelu")"));
  EXPECT_TRUE(gated.layer(1).feed_forward->gated);
  EXPECT_EQ(gated.layer(1).feed_forward->activation, Activation::gelu_tanh);

  const ModelDescription alone = described(t5(R"("architectures":["T5EncoderModel"])"));
  EXPECT_FALSE(alone.has_source());
  EXPECT_EQ(alone.layer_count(), 2);
  EXPECT_FALSE(alone.is_causal());
}

TEST(EncoderFamilies, T5RefusesByKeyAndRule) {
  const auto refuses = [](const std::string& more, const std::string& where, const std::string& rule) {
    EXPECT_FILE_ERROR(described(t5(more)), where, rule) << more;
  };
  refuses(R"("feed_forward_proj":"gated-mish")", "feed_forward_proj", "\"gated-mish\" is not one of relu");
  refuses(R"("feed_forward_proj":"silu")", "feed_forward_proj", "\"silu\" is not one of relu");
  refuses(R"("num_decoder_layers":0)", "num_decoder_layers", "0 is not between 1");
  refuses(R"("num_decoder_layers":100000)", "num_decoder_layers", "is not between 1 and 4096");
  refuses(R"("relative_attention_num_buckets":3)", "relative_attention_num_buckets", "3 is not between 4");
  refuses(R"("relative_attention_max_distance":16)", "relative_attention_max_distance",
          "16 is not more than the 16 distances");
  refuses(R"("relative_attention_max_distance":8)", "relative_attention_max_distance",
          "8 is not more than the 8 distances");
  refuses(R"("decoder_start_token_id":100)", "decoder_start_token_id", "100 is not between 0 and 99");
  refuses(R"("eos_token_id":-1)", "eos_token_id", "-1 is not between 0 and 99");
  refuses(R"("n_positions":0)", "n_positions", "0 is not between 1");
  refuses(R"("layer_norm_epsilon":2)", "layer_norm_epsilon", "2 is not between 0 and 1");
  refuses(R"("quantization_config":{"bits":8})", "quantization_config", "quantized weights");
  EXPECT_FILE_ERROR(described(R"({"model_type":"t5","d_model":24})"), "vocab_size", "is missing");
}

TEST(EncoderFamilies, DescriptionsThatMakeNoModelAreRefused) {
  const auto refuses = [](const auto& change, const std::string& sentence) {
    ModelDescription description = small_model("albert");
    change(description);
    EXPECT_REFUSES(check(description), sentence);
  };
  refuses([](ModelDescription& d) { d.layers[1].weights_of = 2; },
          "[model] layer 2 has the weights of layer 2, expected an earlier one with weights of its own");
  refuses([](ModelDescription& d) { d.layers[0].weights_of = 0; },
          "[model] layer 1 has the weights of layer 0, expected an earlier one with weights of its own");
  refuses([](ModelDescription& d) { d.layers[1].feed_forward->size = 7; },
          "[model] layer 2 has the weights of layer 1, and is not made like it");
  refuses([](ModelDescription& d) { d.layers[0].attention_norm = false; },
          "[model] a layer without a norm of attention needs norms before its parts");
  refuses([](ModelDescription& d) { d.layers[0].attention.head_size = kLargestModelSize; },
          "[model] heads × head_size is 67108864, expected a number from 1 to 16777216");
  refuses([](ModelDescription& d) { d.embedding_size = 0; },
          "[model] embedding_size is 0, expected a number from 1");
}

}  // namespace
}  // namespace attend
