// Sizes in a config.json that the tensors do not have: refused with the tensor and both shapes, before
// anything of that size is asked for. Every allocation of this program is counted.
#include <attend/file_error.h>
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "model/random_checkpoint.h"
#include "support/counting_new.h"

namespace attend {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 18;   // times 8: 8 MB for one matrix, and there are dozens
constexpr std::size_t kAllowed = std::size_t{1} << 20;  // bytes: names, messages

struct Kind {
  std::string name;
  ModelDescription description;
};

ModelDescription own(bool norm_first, PositionKind positions, model::ModelKind kind,
                     model::FeedForwardKind feed_forward) {
  return model::describe({.kind = kind,
                          .vocabulary = 10,
                          .length = 20,
                          .layers = 2,
                          .hidden = 8,
                          .heads = 2,
                          .inner = 12,
                          .norm_first = norm_first,
                          .feed_forward = feed_forward,
                          .positions = positions});
}

std::vector<Kind> kinds() {
  using model::FeedForwardKind;
  using model::ModelKind;
  std::vector<Kind> list;
  for (const char* const family : {"bert", "roberta", "distilbert", "mpnet", "gpt2"})
    list.push_back({family, small_model(family)});
  list.push_back({"own", own(true, PositionKind::learned, ModelKind::encoder, FeedForwardKind::gelu)});
  list.push_back(
      {"own_gated", own(false, PositionKind::rotary, ModelKind::decoder, FeedForwardKind::swiglu)});
  list.push_back({"own_two_stacks",
                  own(true, PositionKind::learned, ModelKind::encoder_decoder, FeedForwardKind::gelu)});
  for (const NamedDescription& model : modern_models()) list.push_back({model.name, model.description});
  return list;
}

// A size that a config.json may claim.
struct Size {
  const char* name;
  void (*set)(ModelDescription& description, std::int64_t value);
  bool (*used)(const ModelDescription& description);
};
bool always(const ModelDescription&) { return true; }

const Size kSizes[] = {
    {"hidden_size", [](ModelDescription& d, std::int64_t value) { d.hidden_size = value; }, always},
    {"inner size",
     [](ModelDescription& d, std::int64_t value) {
       for (LayerDescription& layer : d.layers) {
         if (layer.feed_forward) layer.feed_forward->size = value;
       }
     },
     always},
    {"head_size",
     [](ModelDescription& d, std::int64_t value) {
       for (LayerDescription& layer : d.layers) layer.attention.head_size = value;
     },
     // A divisor for each pair that rotates says how many there are: check() compares the two.
     [](const ModelDescription& d) {
       const Rotary& rotary = d.layers.front().attention.rotary;
       return rotary.divisors.empty() && rotary.long_divisors.empty();
     }},
    {"vocabulary_size", [](ModelDescription& d, std::int64_t value) { d.vocabulary_size = value; }, always},
    {"positions", [](ModelDescription& d, std::int64_t value) { d.position_count = value; },
     [](const ModelDescription& d) { return d.positions == PositionKind::learned; }},
    {"token_types", [](ModelDescription& d, std::int64_t value) { d.token_types = value; },
     [](const ModelDescription& d) { return d.token_types > 0; }},
    {"relative_buckets",
     [](ModelDescription& d, std::int64_t value) {
       for (LayerDescription& layer : d.layers) layer.attention.relative_buckets.buckets = value;
     },
     [](const ModelDescription& d) { return d.uses(PositionKind::relative); }},
};

class HostileSizes : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Families, HostileSizes, testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param.name; });

// The sentence with which it is refused, before a megabyte is asked for.
std::string refusal_of(const ModelDescription& hostile, const RandomCheckpoint& zeros) {
  bytes_allocated = 0;
  try {
    const Transformer transformer(hostile, zeros.source());
  } catch (const FileError& error) {
    EXPECT_LT(bytes_allocated.load(), kAllowed) << error.what();
    EXPECT_NE(error.where(), "");
    return error.rule();
  }
  ADD_FAILURE() << "was read";
  return "";
}

TEST_P(HostileSizes, AreComparedBeforeAnythingIsAllocated) {
  const ModelDescription& description = GetParam().description;
  const RandomCheckpoint zeros(description, "", DType::f32, 0);
  EXPECT_NO_THROW(Transformer(description, zeros.source()));
  int refused = 0;
  for (const Size& size : kSizes) {
    if (!size.used(description)) continue;
    SCOPED_TRACE(size.name);
    ModelDescription hostile = description;
    size.set(hostile, kHuge);
    const std::string rule = refusal_of(hostile, zeros);
    EXPECT_TRUE(rule.starts_with("its shape is (") &&
                rule.find(", but the configuration says (") != std::string::npos)
        << rule;
    ++refused;
  }
  EXPECT_GE(refused, 3);
}

TEST_P(HostileSizes, MoreLayersThanThereAre) {
  ModelDescription hostile = GetParam().description;
  const RandomCheckpoint zeros(hostile, "", DType::f32, 0);
  LayerDescription another = hostile.layers.back();
  another.weights_of.reset();
  hostile.layers.resize(hostile.layers.size() + 30, another);
  EXPECT_EQ(refusal_of(hostile, zeros), "there is no such tensor");
}

// More heads than the bias has.
TEST(HostileSizesOfMpnet, HeadsAreThoseOfTheBias) {
  ModelDescription description = small_model("mpnet");
  const RandomCheckpoint zeros(description, "", DType::f32, 0);
  for (LayerDescription& layer : description.layers)
    layer.attention = {.heads = 8,
                       .key_heads = 8,
                       .head_size = 6,
                       .positions = PositionKind::relative,
                       .relative_buckets = {.buckets = 32, .max_distance = 128}};
  EXPECT_THROW(Transformer(description, zeros.source()), FileError);
}

}  // namespace
}  // namespace attend
