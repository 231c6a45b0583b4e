// Sizes in a config.json that the tensors do not have: refused with the tensor and both shapes, before
// anything of that size is asked for. Every allocation of this program is counted.
#include <attend/encoder.h>
#include <attend/file_error.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "model/names.h"
#include "support/counting_new.h"

namespace attend {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 18;   // times 8: 8 MB for one matrix, and there are dozens
constexpr std::size_t kAllowed = std::size_t{1} << 20;  // bytes: names, messages

struct Kind {
  const char* name;
  ModelConfig config;
};

ModelConfig tiny(ModelFamily family) {
  ModelConfig config{.family = family,
                     .hidden_size = 8,
                     .layers = 2,
                     .heads = 2,
                     .intermediate_size = 12,
                     .vocabulary_size = 10,
                     .positions = 20};
  if (family == ModelFamily::bert || family == ModelFamily::roberta) config.token_types = 2;
  if (family == ModelFamily::mpnet) config.relative_buckets = 32;
  if (family == ModelFamily::gpt2) config.norm_first = true;
  return config;
}

ModelConfig own(bool norm_first, PositionKind positions, std::int64_t encoder_layers, bool gated) {
  ModelConfig config = tiny(ModelFamily::attend);
  config.norm_first = norm_first;
  config.position_kind = positions;
  config.gated = gated;
  config.encoder_layers = encoder_layers;
  if (encoder_layers > 0) config.layers = 3 * encoder_layers;
  return config;
}

const Kind kKinds[] = {
    {"bert", tiny(ModelFamily::bert)},
    {"roberta", tiny(ModelFamily::roberta)},
    {"distilbert", tiny(ModelFamily::distilbert)},
    {"mpnet", tiny(ModelFamily::mpnet)},
    {"gpt2", tiny(ModelFamily::gpt2)},
    {"own", own(true, PositionKind::learned, 0, false)},
    {"own_gated", own(false, PositionKind::rotary, 0, true)},
    {"own_two_stacks", own(true, PositionKind::learned, 2, false)},
};

// The tensors of a model, all zero, by the names that the library looks for.
class Zeros {
 public:
  explicit Zeros(const ModelConfig& c) {
    const Names names =
        names_of(c, {.file = "zeros", .contains = [](const std::string&) { return true; }, .tensor = {}});
    const std::int64_t e = c.hidden_size, wide = (c.gated ? 2 : 1) * c.intermediate_size;
    add(names.embeddings.words, {c.vocabulary_size, e});
    add(names.embeddings.positions, {c.positions, e});
    add(names.embeddings.types, {c.token_types, e});
    add(names.relative_bias, {c.relative_buckets, c.heads});
    for (const std::string& name :
         {names.embeddings.norm, names.embeddings.source_norm, names.final_norm, names.encoder_norm})
      norm(name, e);
    for (std::int64_t i = 0; i < c.layers; ++i) {
      const LayerNames layer = names.layer(i);
      const std::int64_t queries = layer.context.empty() ? 3 * e : e;
      for (const std::string& name : layer.qkv)
        linear(names, name, e, queries / static_cast<std::int64_t>(layer.qkv.size()));
      linear(names, layer.context, e, 2 * e);
      linear(names, layer.out, e, e);
      norm(layer.attention_norm, e);
      linear(names, layer.up, e, wide);
      linear(names, layer.down, c.intermediate_size, e);
      norm(layer.output_norm, e);
    }
  }

  TensorSource source() const {
    return {.file = "zeros",
            .contains = [this](const std::string& name) { return tensors_.contains(name); },
            .tensor = [this](const std::string& name) -> ConstTensorView { return tensors_.at(name); }};
  }

 private:
  void add(const std::string& name, const Dims& shape) {
    if (!name.empty()) tensors_.emplace(name, Tensor(DType::f32, shape));
  }
  void norm(const std::string& name, std::int64_t size) {
    if (name.empty()) return;
    add(name + ".weight", {size});
    add(name + ".bias", {size});
  }
  void linear(const Names& names, const std::string& name, std::int64_t in, std::int64_t out) {
    if (name.empty()) return;
    add(name + ".weight", names.input_first ? Dims{in, out} : Dims{out, in});
    add(name + ".bias", {out});
  }
  std::map<std::string, Tensor> tensors_;
};

struct Size {
  const char* name;
  std::int64_t ModelConfig::*member;
};
constexpr Size kSizes[] = {{"hidden_size", &ModelConfig::hidden_size},
                           {"intermediate_size", &ModelConfig::intermediate_size},
                           {"vocabulary_size", &ModelConfig::vocabulary_size},
                           {"positions", &ModelConfig::positions},
                           {"token_types", &ModelConfig::token_types},
                           {"relative_buckets", &ModelConfig::relative_buckets},
                           {"layers", &ModelConfig::layers}};

class HostileSizes : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Families, HostileSizes, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(HostileSizes, AreComparedBeforeAnythingIsAllocated) {
  const ModelConfig& config = GetParam().config;
  const Zeros zeros(config);
  EXPECT_NO_THROW(Encoder(config, zeros.source()));
  int refused = 0;
  for (const Size& size : kSizes) {
    // Not looked at: positions that are not learned, types and buckets of a family that has none.
    const bool unused = config.*size.member == 0 || (size.member == &ModelConfig::positions &&
                                                     config.position_kind != PositionKind::learned);
    if (unused) continue;
    SCOPED_TRACE(size.name);
    const bool layers = size.member == &ModelConfig::layers;
    ModelConfig hostile = config;
    hostile.*size.member = layers ? 4095 : kHuge;
    bytes_allocated = 0;
    try {
      const Encoder encoder(hostile, zeros.source());
      ADD_FAILURE() << "was read";
    } catch (const FileError& error) {
      EXPECT_LT(bytes_allocated.load(), kAllowed) << error.what();
      EXPECT_NE(error.where(), "");
      const std::string& rule = error.rule();
      if (layers) {
        EXPECT_EQ(rule, "there is no such tensor");
      } else {
        EXPECT_TRUE(rule.starts_with("its shape is (") &&
                    rule.find(", the configuration says (") != std::string::npos)
            << rule;
        // A gated part has two halves.
        const bool named = rule.find(std::to_string(kHuge)) != std::string::npos ||
                           rule.find(std::to_string(2 * kHuge)) != std::string::npos;
        EXPECT_TRUE(named) << rule;
      }
      ++refused;
    }
  }
  EXPECT_GE(refused, 4);
}

// More heads than the bias is for.
TEST(HostileSizesOfMpnet, HeadsAreThoseOfTheBias) {
  ModelConfig config = tiny(ModelFamily::mpnet);
  const Zeros zeros(config);
  config.heads = 8;
  EXPECT_THROW(Encoder(config, zeros.source()), FileError);
}

}  // namespace
}  // namespace attend
