// A token's path through the blocks: the parts add up to what the pass computed, and each is what plain
// float64 arithmetic makes of the checkpoint.
#include <attend/checkpoint.h>
#include <attend/lens_block.h>
#include <attend/lens_next.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lens/golden_reading.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr const char* kBlockText = "the banks of the river , money";

// One of each place of norms, parallel parts, shared keys, caps, windows, shared weights, a source.
constexpr const char* kBlockFamilies[] = {"gpt2",
                                          "bert",
                                          "albert",
                                          "modernbert",
                                          "t5",
                                          "../decoders/llama",
                                          "../decoders/gemma2",
                                          "../decoders/gemma3",
                                          "../decoders/olmo2",
                                          "../decoders/qwen3",
                                          "../decoders/phi3",
                                          "../decoders/gpt_neox",
                                          "../decoders/gpt_neox-serial"};

using Doubles = std::vector<double>;

Doubles doubles_of(ConstTensorView view) {
  const Tensor copy = copy_of(view, DType::f64);
  return {copy.values<double>().begin(), copy.values<double>().end()};
}

double block_length(const Doubles& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

class Block : public testing::TestWithParam<const char*> {
 protected:
  GoldenModel golden_{GetParam()};
  TextModel model_ = golden_.load();
  // A model with a source answers with the second text.
  Reading reading_{model_, kBlockText, model_.transformer().description().has_source() ? "the bank" : ""};
  const ModelDescription& description_ = model_.transformer().description();
};
INSTANTIATE_TEST_SUITE_P(Families, Block, testing::ValuesIn(kBlockFamilies), [](const auto& family) {
  std::string name(family.param);
  name = name.substr(name.rfind('/') + 1);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// The stream that leaves each layer is the one that the pass had, so in + attention + feed-forward = out.
TEST_P(Block, LengthsAreThoseOfThePass) {
  for (const std::int64_t place : {std::int64_t{0}, reading_.size() / 2, reading_.size() - 1}) {
    const BlockPath path = block_path(reading_, place);
    ASSERT_FALSE(path.layers.empty());
    for (const BlockLayer& layer : path.layers) {
      EXPECT_TRUE(reading_.looking(layer.layer).contains(place));
      const double in = block_length(doubles_of(reading_.hidden(layer.layer - 1).select(0, place)));
      EXPECT_NEAR(layer.in, in, 1e-9 * in);
      const bool normed = description_.final_norm &&
                          (layer.layer == reading_.layers() || layer.layer == description_.encoder_layers);
      if (!normed) {
        const double out = block_length(doubles_of(reading_.hidden(layer.layer).select(0, place)));
        EXPECT_NEAR(layer.out, out, 2e-5 * out) << "layer " << layer.layer << " place " << place;
      }
      EXPECT_EQ(std::ssize(layer.heads), reading_.heads());
      EXPECT_EQ(layer.feed_forward.has_value(), description_.layer(layer.layer).feed_forward.has_value());
      // By the law of cosines, where the sums have no norm of their own.
      if (description_.layer(layer.layer).norm.place == NormPlace::after) continue;
      const auto sum = [](double stream, const BlockPart& part) {
        return std::sqrt(stream * stream + part.length * part.length +
                         2 * stream * part.length * part.cosine);
      };
      EXPECT_NEAR(layer.middle, sum(layer.in, layer.attention), 1e-4 * layer.middle);
      if (layer.feed_forward && !description_.layer(layer.layer).feed_forward->parallel) {
        EXPECT_NEAR(layer.out, sum(layer.middle, *layer.feed_forward), 1e-4 * layer.out);
      }
    }
  }
}

// From a reading that kept no hidden states, the stream is made again, layer by layer.
TEST_P(Block, StreamsAreMadeAgainFromAttentionAlone) {
  const std::int64_t place = reading_.size() - 1, last = reading_.layers();
  const Reading bare(model_, kBlockText, reading_.second(), {.keep = Keep::attention});
  const LogitLens kept = [&] {
    return expects_next(reading_).size() > 0 ? logit_lens(reading_, place, 3) : LogitLens{};
  }();
  const BlockPath path = block_path(bare, place), full = block_path(reading_, place);
  ASSERT_EQ(path.layers.size(), full.layers.size());
  for (std::size_t i = 0; i < path.layers.size(); ++i)
    EXPECT_NEAR(path.layers[i].out, full.layers[i].out, 2e-4 * full.layers[i].out);
  if (kept.layers.empty()) return;
  const LogitLens rebuilt = logit_lens(bare, place, 3);
  ASSERT_EQ(rebuilt.layers.size(), static_cast<std::size_t>(last + 1));
  for (std::size_t i = 0; i < rebuilt.layers.size(); ++i)
    EXPECT_NEAR(rebuilt.layers[i].probability, kept.layers[i].probability, 1e-4);
}

// The parts of a logit add up to the logit, which the output layer computes from what leaves the last layer.
TEST_P(Block, LogitsAreTheSumOfTheirParts) {
  const std::int64_t place = reading_.size() - 1;
  if (!has_logit_parts(reading_)) {
    EXPECT_REFUSES(block_path(reading_, place, {1}), "logits are taken apart for models that write");
    return;
  }
  const Doubles hidden = doubles_of(reading_.hidden(reading_.layers()).select(0, place));
  const BlockPath path = block_path(reading_, place, {3, 7});
  ASSERT_EQ(path.logits.size(), 2u);
  for (const LogitParts& parts : path.logits) {
    ASSERT_EQ(parts.layers.size(), path.layers.size());
    double logit = model_.token_head()->logits(hidden)[static_cast<std::size_t>(parts.token)];
    if (const double cap = description_.output_softcap; cap > 0) logit = cap * std::atanh(logit / cap);
    EXPECT_NEAR(parts.logit, logit, 1e-4 * (1 + std::abs(logit)));
    double sum = parts.embedding + parts.constant;
    for (const LayerLogits& layer : parts.layers)
      sum += std::accumulate(layer.heads.begin(), layer.heads.end(), layer.rest + layer.feed_forward);
    EXPECT_NEAR(parts.logit, sum, 1e-12 * (1 + std::abs(sum)));
  }
}

// What one head adds, from the weights of attention and the checkpoint, in float64.
class HeadOfBlock {
 public:
  HeadOfBlock(const char* family, std::int64_t layer)
      : golden_(family), reading_(golden_.load(), kBlockText), layer_(layer) {}

  const Reading& reading() const { return reading_; }
  Doubles tensor(const std::string& name) const {
    return doubles_of(Checkpoint::open(golden_.weights()).tensor(name));
  }

  // matrix: as (in, out), or as (out, in) where transposed.
  Doubles added(std::int64_t place, std::int64_t head, const Doubles& matrix, bool transposed) const {
    const Reading::Layer& layer = reading_.layer(layer_);
    const std::int64_t d = layer.v.size(2), key_heads = layer.v.size(1),
                       e = reading_.model().transformer().description().hidden_size,
                       in = reading_.heads() * d;
    const Tensor weights = attention_rows(layer.q, layer.k, layer.options, Stage::weights,
                                          {.heads = {head - 1}, .rows = {place}}, layer.state);
    const Doubles v = doubles_of(layer.v);
    Doubles sum(static_cast<std::size_t>(e));
    for (std::int64_t i = 0; i < d; ++i) {
      double gathered = 0;
      for (std::int64_t j = 0; j < reading_.size(); ++j) {
        const std::int64_t at = (j * key_heads + (head - 1) * key_heads / reading_.heads()) * d + i;
        gathered += static_cast<double>(weights.values<float>()[static_cast<std::size_t>(j)]) *
                    v[static_cast<std::size_t>(at)];
      }
      const std::int64_t row = (head - 1) * d + i;
      for (std::int64_t c = 0; c < e; ++c)
        sum[static_cast<std::size_t>(c)] +=
            gathered * matrix[static_cast<std::size_t>(transposed ? c * in + row : row * e + c)];
    }
    return sum;
  }

 private:
  GoldenModel golden_;
  Reading reading_;
  std::int64_t layer_;
};

TEST(BlockHeads, AddWhatFloat64ArithmeticMakesOfThem) {
  struct Case {
    const char *family, *matrix;
    bool transposed;
  };
  for (const Case& each : {Case{"gpt2", "transformer.h.1.attn.c_proj.weight", false},
                           Case{"bert", "bert.encoder.layer.1.attention.output.dense.weight", true},
                           Case{"../decoders/llama", "model.layers.1.self_attn.o_proj.weight", true},
                           Case{"../decoders/gpt_neox", "gpt_neox.layers.1.attention.dense.weight", true}}) {
    const HeadOfBlock block(each.family, 2);
    const std::string name(each.matrix), bare = name.substr(name.find('.') + 1);
    const Checkpoint checkpoint = Checkpoint::open(GoldenModel(each.family).weights());
    const Doubles matrix = block.tensor(checkpoint.contains(name) ? name : bare);
    const std::int64_t place = block.reading().size() - 2;
    const BlockPath path = block_path(block.reading(), place);
    for (std::int64_t head = 1; head <= block.reading().heads(); ++head) {
      const double expected = block_length(block.added(place, head, matrix, each.transposed));
      EXPECT_NEAR(path.layers[1].heads[static_cast<std::size_t>(head) - 1], expected, 1e-5 * expected)
          << each.family << " head " << head;
    }
  }
}

// Where attention's output has a norm of its own: the root mean square of all heads together, held fixed.
TEST(BlockHeads, GoThroughTheNormOfAllHeadsTogether) {
  for (const bool gemma : {true, false}) {
    const HeadOfBlock block(gemma ? "../decoders/gemma2" : "../decoders/olmo2", 1);
    const Doubles matrix = block.tensor("model.layers.0.self_attn.o_proj.weight");
    const Doubles gamma = block.tensor("model.layers.0.post_attention_layernorm.weight");
    const std::int64_t place = block.reading().size() - 1, heads = block.reading().heads();
    const double epsilon = block.reading().model().transformer().description().layer(1).norm.epsilon;
    std::vector<Doubles> each;
    Doubles sum(gamma.size());
    for (std::int64_t head = 1; head <= heads; ++head) {
      each.push_back(block.added(place, head, matrix, true));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += each.back()[i];
    }
    const double divisor = std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0) /
                                         static_cast<double>(sum.size()) +
                                     epsilon);
    const BlockPath path = block_path(block.reading(), place);
    Doubles total(gamma.size());
    for (std::size_t head = 0; head < each.size(); ++head) {
      for (std::size_t i = 0; i < sum.size(); ++i) {
        each[head][i] *= (gemma ? 1 + gamma[i] : gamma[i]) / divisor;
        total[i] += each[head][i];
      }
      const double expected = block_length(each[head]);
      EXPECT_NEAR(path.layers[0].heads[head], expected, 1e-5 * expected);
    }
    EXPECT_NEAR(path.layers[0].attention.length, block_length(total), 1e-5 * block_length(total));
    EXPECT_NEAR(path.layers[0].rest, 0, 1e-5 * block_length(total));
  }
}

TEST(BlockPaths, OfManyPlacesAreThoseOfEach) {
  const GoldenModel golden("gpt2");
  std::string text;
  for (int i = 0; i < 6; ++i) text += std::string(kBlockText) + " ";
  const Reading reading(golden.load(), text);
  ASSERT_GE(reading.size(), 40);  // more than are computed together
  std::vector<BlockQuestion> questions;
  for (std::int64_t place = 0; place < reading.size(); ++place) questions.push_back({place, {5}});
  const std::vector<BlockPath> paths = block_paths(reading, questions);
  for (const std::int64_t place : {std::int64_t{3}, std::int64_t{31}, std::int64_t{32}, reading.size() - 1}) {
    const BlockPath &one = block_path(reading, place, {5}), &of_many = paths[static_cast<std::size_t>(place)];
    EXPECT_EQ(of_many.place, place);
    EXPECT_NEAR(of_many.layers[1].out, one.layers[1].out, 1e-9);
    EXPECT_NEAR(of_many.logits[0].logit, one.logits[0].logit, 1e-6);
  }
  EXPECT_REFUSES(block_path(reading, reading.size()), "place is");
  EXPECT_REFUSES(block_path(reading, 0, {99999}), "token is 99999");
}

}  // namespace
}  // namespace attend
