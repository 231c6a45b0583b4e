// What the decoder families make of a config.json, and what they refuse.
#include <attend/positions.h>
#include <attend/token_head.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "model/random_checkpoint.h"
#include "support/compare.h"
#include "support/file_error.h"

namespace attend {
namespace {

std::string decoder(const std::string& type, const std::string& more = "") {
  return R"({"model_type":")" + type +
         R"(","hidden_size":24,"num_hidden_layers":3,"num_attention_heads":4,"num_key_value_heads":2,)"
         R"("intermediate_size":40,"vocab_size":60,"max_position_embeddings":128)" +
         (more.empty() ? "" : "," + more) + "}";
}
std::string llama(const std::string& more = "") { return decoder("llama", more); }
std::string scaled(const std::string& rope) { return llama(R"("head_dim":8,"rope_scaling":{)" + rope + "}"); }

// The frequencies of every way to stretch them, as transformers has them (tools/golden/make_decoders.py).
TEST(RotaryStretch, HasTheFrequenciesOfTransformers) {
  const std::filesystem::path folder = std::filesystem::path(ATTEND_GOLDEN_DECODERS) / "rope";
  const Checkpoint golden = Checkpoint::open(folder / "golden.safetensors");
  for (const std::string name : {"linear", "dynamic", "llama3", "yarn", "yarn-bounds", "yarn-factor",
                                 "yarn-mscale", "longrope", "longrope-factor"}) {
    const ModelDescription model = read_model_description(folder / (name + ".json"));
    const Rotary& rotary = model.layer(1).attention.rotary;
    EXPECT_NEAR(rotary.magnitude, values_of(golden.tensor(name + ".factor"))[0], 1e-14) << name;
    for (const std::int64_t length : {16, 32, 33, 128, 129, 300}) {
      const std::vector<double> expected = values_of(golden.tensor(name + "." + std::to_string(length)));
      const std::vector<double> found = rotary_wavelengths(rotary, 16, length);
      ASSERT_EQ(found.size(), expected.size()) << name;
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(1 / found[i] / expected[i], 1, 1e-13) << name << ", " << length << " tokens, pair " << i;
    }
  }
}

TEST(RotaryStretch, LongTextsHavePlaces) {
  EXPECT_EQ(described(scaled(R"("type":"linear","factor":2)")).max_tokens(), 128);
  EXPECT_EQ(described(scaled(R"("type":"dynamic","factor":2)")).max_tokens(), 256);
  EXPECT_EQ(
      described(scaled(R"("type":"yarn","factor":4,"original_max_position_embeddings":64)")).max_tokens(),
      256);
  EXPECT_EQ(described(scaled(R"("type":"yarn","factor":4)")).max_tokens(), 128);
  EXPECT_EQ(described(scaled(R"("type":"dynamic","factor":1e300)")).max_tokens(), std::int64_t{1} << 24);
}

TEST(DecoderFamilies, Llama) {
  const ModelDescription plain = described(llama());
  EXPECT_EQ(plain.family, "llama");
  EXPECT_TRUE(plain.is_causal());
  EXPECT_FALSE(plain.tied_output);
  EXPECT_EQ(plain.positions, PositionKind::none);
  const LayerDescription& layer = plain.layer(1);
  EXPECT_EQ(layer.attention.key_heads, 2);
  EXPECT_EQ(layer.attention.head_size, 6);
  EXPECT_EQ(layer.attention.rotary, Rotary{});
  EXPECT_FALSE(layer.attention.bias || layer.attention.output_bias || layer.feed_forward->bias);
  EXPECT_EQ(layer.norm.epsilon, 1e-6);
  EXPECT_EQ(layer.feed_forward->activation, Activation::silu);

  const ModelDescription more = described(llama(
      R"("head_dim":10,"attention_bias":true,"mlp_bias":true,"rope_theta":500000,"tie_word_embeddings":true,
         "eos_token_id":[3,59,128001],"pad_token_id":-1,"architectures":["LlamaModel"],"rope_scaling":null,
         "auto_map":{"AutoModel":"code.Model"},"pretraining_tp":1,"torch_dtype":"bfloat16","sliding_window":4)"));
  EXPECT_EQ(more.layer(3).attention.head_size, 10);
  EXPECT_EQ(more.layer(3).attention.rotary.base, 500000);
  EXPECT_TRUE(more.layer(3).attention.bias && more.layer(3).attention.output_bias);
  EXPECT_TRUE(more.layer(3).feed_forward->bias && more.tied_output);
  EXPECT_EQ(more.end_tokens, (std::vector<std::int32_t>{3, 59}));
  EXPECT_EQ(more.layer(3).attention.window.left, Window::kUnlimited);  // not a key of this family
  EXPECT_EQ(described(llama(R"("eos_token_id":7)")).end_tokens, (std::vector<std::int32_t>{7}));
}

TEST(DecoderFamilies, BothFormsOfRotaryPositionsSayTheSame) {
  const Rotary older = described(scaled(R"("rope_type":"linear","factor":3)")).layer(1).attention.rotary;
  EXPECT_EQ(older.divisors, (std::vector<double>{3, 3, 3, 3}));
  const auto rotary = [](const std::string& more) {
    return described(llama(R"("head_dim":8,)" + more)).layer(1).attention.rotary;
  };
  EXPECT_EQ(rotary(R"("rope_parameters":{"rope_type":"linear","factor":3,"rope_theta":10000})"), older);
  EXPECT_EQ(rotary(R"("rope_parameters":{"type":"linear","factor":3.0})"), older);
  EXPECT_EQ(rotary(R"("rope_parameters":{"rope_type":"default","rope_theta":77})").base, 77);
  // The length at the top stands above the one inside.
  const Rotary top = rotary(
      R"("original_max_position_embeddings":32,"rope_scaling":{"type":"longrope","original_max_position_embeddings":16,
         "short_factor":[1,1,1,1],"long_factor":[2,2,2,2]})");
  EXPECT_EQ(top.long_text, 32);
  EXPECT_NEAR(top.magnitude, std::sqrt(1 + std::log(4.0) / std::log(32.0)), 1e-15);
}

TEST(DecoderFamilies, Windows) {
  const auto left = [](const std::string& text) {
    std::vector<std::int64_t> windows;
    for (const LayerDescription& layer : described(text).layers)
      windows.push_back(layer.attention.window.left);
    return windows;
  };
  using Windows = std::vector<std::int64_t>;
  constexpr std::int64_t kAll = Window::kUnlimited;
  EXPECT_EQ(left(decoder("mistral")), (Windows{4095, 4095, 4095}));
  EXPECT_EQ(left(decoder("mistral", R"("sliding_window":null)")), (Windows{kAll, kAll, kAll}));
  EXPECT_EQ(left(decoder("mistral", R"("sliding_window":1)")), (Windows{0, 0, 0}));
  EXPECT_EQ(left(decoder("phi3")), (Windows{kAll, kAll, kAll}));
  EXPECT_EQ(left(decoder("phi3", R"("sliding_window":2047)")), (Windows{2046, 2046, 2046}));
  EXPECT_EQ(left(decoder("qwen2", R"("sliding_window":8,"max_window_layers":1)")),
            (Windows{kAll, kAll, kAll}));
  EXPECT_EQ(left(decoder("qwen2", R"("use_sliding_window":true,"sliding_window":8,"max_window_layers":1)")),
            (Windows{kAll, 7, 7}));
  EXPECT_EQ(left(decoder("qwen3", R"("use_sliding_window":true,"sliding_window":8,
                 "layer_types":["sliding_attention","full_attention","full_attention"])")),
            (Windows{7, kAll, kAll}));
  EXPECT_EQ(left(decoder("gemma2", R"("sliding_window":8)")), (Windows{7, kAll, 7}));
  EXPECT_EQ(left(decoder("gemma3_text", R"("sliding_window":8,"sliding_window_pattern":2)")),
            (Windows{7, kAll, 7}));
  const ModelDescription both = described(decoder("qwen2", R"("is_causal":false,"use_sliding_window":true,
      "sliding_window":8,"max_window_layers":0)"));
  EXPECT_FALSE(both.is_causal());
  EXPECT_EQ(both.layer(1).attention.window.left, 8);
  EXPECT_EQ(both.layer(1).attention.window.right, 8);
}

TEST(DecoderFamilies, Gemma) {
  const ModelDescription second = described(decoder("gemma2", R"("query_pre_attn_scalar":144)"));
  EXPECT_EQ(second.embedding_scale, std::sqrt(24.0));
  EXPECT_EQ(second.output_softcap, 30);
  EXPECT_EQ(second.layer(1).attention.softcap, 50);
  EXPECT_EQ(second.layer(1).attention.scale, 1.0 / 12);
  EXPECT_EQ(second.layer(1).attention.head_size, 256);
  EXPECT_TRUE(second.layer(1).norm.plus_one && second.final_norm->plus_one && second.tied_output);
  const ModelDescription bare =
      described(decoder("gemma2", R"("attn_logit_softcapping":null,"final_logit_softcapping":null)"));
  EXPECT_EQ(bare.output_softcap, 0);
  EXPECT_EQ(bare.layer(1).attention.softcap, 0);

  const ModelDescription third = described(
      decoder("gemma3_text",
              R"("rope_theta":7e5,"rope_local_base_freq":300,"rope_scaling":{"rope_type":"linear","factor":8},
      "head_dim":8,"sliding_window_pattern":3,"attn_logit_softcapping":50)"));
  EXPECT_EQ(third.layer(1).attention.rotary, (Rotary{.base = 300}));
  EXPECT_EQ(third.layer(3).attention.rotary, (Rotary{.base = 7e5, .divisors = {8, 8, 8, 8}}));
  EXPECT_EQ(third.layer(1).attention.softcap, 0);
  EXPECT_EQ(third.output_softcap, 0);
  const ModelDescription embedding =
      described(decoder("gemma3_text", R"("use_bidirectional_attention":true,"sliding_window":9)"));
  EXPECT_FALSE(embedding.is_causal());
  EXPECT_EQ(embedding.layer(1).attention.window.right, 4);
}

// A model that also sees pictures: its text part, under other names.
TEST(DecoderFamilies, GemmaWithPicturesIsItsTextPart) {
  const ModelDescription usual = described(R"({"model_type":"gemma3","text_config":{}})");
  EXPECT_EQ(usual.heads(), 8);
  EXPECT_EQ(usual.layer_count(), 26);
  EXPECT_EQ(usual.layer(6).attention.rotary.base, 1e6);
  EXPECT_EQ(usual.layer(5).attention.rotary.base, 1e4);
  std::string text = decoder("gemma3_text", R"("head_dim":8)");
  const ModelDescription alone = described(text);
  const ModelDescription inside = described(R"({"model_type":"gemma3","vision_config":{"hidden_size":1152},
      "text_config":)" + text + "}");
  const RandomCheckpoint plain(alone);
  TokenBatch batch;
  batch.add(std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2, 6});
  const Tensor expected = Transformer(alone, plain.source()).forward(batch);
  for (const char* const prefix : {"model.", "language_model.model.", "model.language_model."}) {
    const RandomCheckpoint prefixed(alone, prefix);
    EXPECT_TRUE(same_bits(Transformer(inside, prefixed.source()).forward(batch), expected)) << prefix;
  }
  EXPECT_FILE_ERROR(described(R"({"model_type":"gemma3"})"), "text_config", "is missing");
  EXPECT_FILE_ERROR(described(R"({"model_type":"gemma3","text_config":{"hidden_size":"a"}})"),
                    "text_config.hidden_size", "expected a whole number");
}

TEST(DecoderFamilies, PartsOfHeadsThatRotate) {
  const auto rotating = [](const std::string& text) {
    return described(text).layer(1).attention.rotary.dimensions;
  };
  EXPECT_EQ(rotating(decoder("phi3", R"("head_dim":8,"partial_rotary_factor":0.75)")), 6);
  const std::string neox =
      R"({"model_type":"gpt_neox","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":40,
      "vocab_size":60,"max_position_embeddings":128)";
  EXPECT_EQ(rotating(neox + "}"), 4);
  EXPECT_EQ(rotating(neox + R"(,"rotary_pct":1.0})"), 0);  // all of them
  EXPECT_EQ(described(neox + R"(,"rotary_emb_base":10})").layer(1).attention.rotary.base, 10);
  EXPECT_TRUE(described(neox + "}").layer(1).feed_forward->parallel);
  EXPECT_FILE_ERROR(described(neox + R"(,"rotary_pct":0.2})"), "rotary_pct",
                    "3 of the 16 dimensions of a head cannot be rotated in pairs");
  EXPECT_FILE_ERROR(described(neox + R"(,"rotary_pct":-1})"), "rotary_pct", "-1 is not a positive number");
  EXPECT_FILE_ERROR(described(neox + R"(,"hidden_act":"silu"})"), "hidden_act",
                    "\"silu\" is not an activation");
}

// No tensor of the output: it is the table of words. One that is there counts, whatever the file says.
TEST(DecoderFamilies, OutputsAreTiedWhereThereIsNone) {
  for (const char* const said : {"true", "false"}) {
    const ModelDescription model = described(llama(R"("tie_word_embeddings":)" + std::string(said)));
    RandomCheckpoint checkpoint(model, "model.");
    const std::vector<double> hidden(24, 0.5);
    const Tensor& words = checkpoint.tensors.at("model.embed_tokens.weight");
    const std::vector<double> tied = TokenHead::find(model, checkpoint.source())->logits(hidden);
    Tensor own = copy_of(words);
    for (float& value : own.values<float>()) value *= 2;
    checkpoint.tensors["lm_head.weight"] = std::move(own);
    const std::vector<double> untied = TokenHead::find(model, checkpoint.source())->logits(hidden);
    EXPECT_NE(tied[5], 0);
    EXPECT_NEAR(untied[5], 2 * tied[5], 1e-12);
  }
}

struct BadDecoder {
  std::string text, where, rule;
};

TEST(DecoderFamilies, RefusalsNameTheKeyAndWhatIsWrong) {
  const std::string huge = [] {
    std::string list = "1";
    for (int i = 0; i < 70000; ++i) list += ",1";
    return list;
  }();
  const std::vector<BadDecoder> cases = {
      {llama(R"("quantization_config":{"bits":4})"), "quantization_config", "quantized weights"},
      {llama(R"("num_local_experts":8)"), "num_local_experts", "a mixture of experts is not supported"},
      {llama(R"("hidden_act":"tanh")"), "hidden_act", "\"tanh\" is not an activation that attend supports"},
      {llama(R"("residual_multiplier":0.22)"), "residual_multiplier", "is not supported, expected 1"},
      {llama(R"("partial_rotary_factor":0.5)"), "partial_rotary_factor", "0.5 is not supported"},
      {llama(R"("head_dim":7)"), "head_dim", "7 of the 7 dimensions of a head cannot be rotated in pairs"},
      {llama(R"("head_dim":0)"), "head_dim", "0 is not between 1 and"},
      {llama(R"("rope_theta":0)"), "rope_theta", "0 is not a positive number"},
      {llama(R"("rope_theta":-10000)"), "rope_theta", "-10000 is not a positive number"},
      {llama(R"("rope_theta":1e999)"), "rope_theta", "outside the range"},
      {llama(R"("rope_scaling":7)"), "rope_scaling", "expected an object"},
      {llama(R"("eos_token_id":[1,"a"])"), "eos_token_id", "expected a list of numbers"},
      {llama(R"("eos_token_id":1.5)"), "eos_token_id", "1.5 is not an id"},
      {llama(R"("eos_token_id":[)" + huge + "]"), "eos_token_id", "has more than 65536 elements"},
      {scaled(R"("rope_type":"mrope")"), "rope_scaling.rope_type",
       "\"mrope\" is not one that attend supports: default, linear, dynamic, llama3, yarn, longrope"},
      {scaled(R"("type":"ntk")"), "rope_scaling.type", "\"ntk\" is not one that attend supports"},
      {scaled(R"("type":"default","mrope_section":[1,2])"), "rope_scaling.mrope_section",
       "positions of images"},
      {scaled(R"("type":"linear")"), "rope_scaling.factor", "is missing"},
      {scaled(R"("type":"linear","factor":0)"), "rope_scaling.factor", "0 is not a positive number"},
      {scaled(R"("type":"linear","factor":-2)"), "rope_scaling.factor", "-2 is not a positive number"},
      {scaled(R"("type":"linear","factor":"2")"), "rope_scaling.factor", "expected a number"},
      {scaled(R"("type":"linear","factor":NaN)"), "byte 232", "expected a value, found 'N'"},
      {scaled(R"("type":"linear","factor":2,"factor":3)"), "rope_scaling", "\"factor\" twice"},
      {scaled(R"("type":"dynamic","factor":1e400)"), "rope_scaling.factor", "outside the range"},
      {scaled(R"("type":"llama3","factor":8)"), "rope_scaling.low_freq_factor", "is missing"},
      {scaled(R"("type":"llama3","factor":8,"low_freq_factor":4,"high_freq_factor":4)"),
       "rope_scaling.high_freq_factor", "4 is not above low_freq_factor, which is 4"},
      {scaled(R"("type":"yarn","factor":4,"original_max_position_embeddings":0)"),
       "rope_scaling.original_max_position_embeddings", "0 is not between"},
      {scaled(R"("type":"yarn","factor":4,"beta_fast":-1)"), "rope_scaling.beta_fast",
       "-1 is not a positive number"},
      {scaled(R"("type":"yarn","factor":4,"attention_factor":0)"), "rope_scaling.attention_factor",
       "0 is not a positive number"},
      {scaled(R"("type":"yarn","factor":4,"rope_theta":1)"), "rope_scaling.rope_theta", "1 is not above 1"},
      {scaled(R"("type":"longrope","short_factor":[1,1,1,1])"), "rope_scaling.long_factor", "is missing"},
      {scaled(R"("type":"longrope","short_factor":[1,1,1],"long_factor":[1,1,1,1])"),
       "rope_scaling.short_factor", "has 3 numbers, expected one for each of the 4 pairs that rotate"},
      {scaled(R"("type":"longrope","short_factor":[1,1,1,1,1],"long_factor":[1,1,1,1])"),
       "rope_scaling.short_factor", "has 5 elements, expected at most 4"},
      {scaled(R"("type":"longrope","short_factor":[1,1,0,1],"long_factor":[1,1,1,1])"),
       "rope_scaling.short_factor", "has the number 0, expected positive ones"},
      {scaled(R"("type":"longrope","short_factor":[1,1,null,1],"long_factor":[1,1,1,1])"),
       "rope_scaling.short_factor", "expected a list of numbers"},
      {scaled(R"("type":"longrope","short_factor":4,"long_factor":[1,1,1,1])"), "rope_scaling.short_factor",
       "expected a list"},
      {scaled(
           R"("type":"longrope","original_max_position_embeddings":1,"short_factor":[1,1,1,1],"long_factor":[1,1,1,1])"),
       "rope_scaling.original_max_position_embeddings", "1 is too short for longrope"},
      {llama(R"("head_dim":1048576,"rope_scaling":{"type":"linear","factor":2})"), "rope_scaling.rope_type",
       "stretches 524288 pairs of a head, expected at most 512"},
      {scaled(R"("type":"yarn","factor":1e-320,"original_max_position_embeddings":16)"),
       "rope_scaling.factor", "makes rotations that are not finite"},
      {scaled(R"("type":"yarn","factor":4,"beta_fast":5e-324,"original_max_position_embeddings":16)"),
       "rope_scaling.factor", "makes rotations that are not finite"},
      {scaled(R"("type":"yarn","factor":1e300,"mscale":1e308,"mscale_all_dim":1e308)"), "rope_scaling.factor",
       "makes rotations that are not finite"},
      {llama(R"("head_dim":16777216)"), "head_dim", "4 heads of 16777216 dimensions are more than 16777216"},
      {llama(R"("rope_parameters":{"full_attention":{"rope_theta":7}})"), "rope_parameters",
       "tells types of layers apart, which does not happen in this family"},
      {decoder("mistral", R"("sliding_window":0)"), "sliding_window", "0 is not between 1 and"},
      {decoder("mistral", R"("layer_types":["full_attention","full_attention","full_attention"])"),
       "layer_types", "is not supported in this family"},
      {decoder("qwen3", R"("layer_types":["full_attention"])"), "layer_types",
       "names 1 layers, and the model has 3"},
      {decoder("qwen3", R"("layer_types":["linear_attention","full_attention","full_attention"])"),
       "layer_types", "\"linear_attention\" is not one that attend supports"},
      {decoder("gemma2", R"("use_bidirectional_attention":true)"), "use_bidirectional_attention",
       "true is not supported"},
      {decoder("gemma2", R"("query_pre_attn_scalar":0)"), "query_pre_attn_scalar",
       "0 is not a positive number"},
      {decoder("gemma2", R"("final_logit_softcapping":-30)"), "final_logit_softcapping",
       "-30 is not a positive number"},
      {decoder("gemma3_text", R"("rope_parameters":{"rope_theta":7})"), "rope_parameters",
       "expected full_attention and sliding_attention in it"},
      {decoder("gpt_neox"), "num_key_value_heads", "is not supported in this family"},
  };
  for (const BadDecoder& bad : cases) EXPECT_FILE_ERROR(described(bad.text), bad.where, bad.rule) << bad.text;
  EXPECT_FILE_ERROR(
      described(R"({"model_type":"llama","hidden_size":25,"num_hidden_layers":3,"num_attention_heads":4,
      "intermediate_size":40,"vocab_size":60,"max_position_embeddings":128})"),
      "num_attention_heads", "4 does not divide the hidden size 25");
  EXPECT_FILE_ERROR(
      described(R"({"model_type":"llama","hidden_size":24,"num_hidden_layers":3,"num_attention_heads":4,
      "num_key_value_heads":3,"intermediate_size":40,"vocab_size":60,"max_position_embeddings":128})"),
      "num_key_value_heads", "3 does not divide the 4 heads");
}

}  // namespace
}  // namespace attend
