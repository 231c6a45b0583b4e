// O(n) memory through a whole encoder: passes with edits, and gradients. Every allocation of this program is
// counted.
#include <attend/threads.h>
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "model/random_checkpoint.h"
#include "support/counting_new.h"

namespace attend {
namespace {

constexpr std::int64_t kLength = 3000;
constexpr std::size_t kMatrix = static_cast<std::size_t>(kLength * kLength) * sizeof(float);

// MPNet, whose bias has an entry for each pair of tokens, and GPT-2.
class EncoderMemory : public testing::TestWithParam<const char*> {
 protected:
  EncoderMemory() {
    set_threads(2);  // scratch is one piece per thread, and machines differ
    batch.add(std::vector<std::int32_t>(kLength, 7));
  }
  ~EncoderMemory() override { set_threads(0); }

  template <class Action>
  static std::size_t allocated(Action action) {
    bytes_allocated = 0;
    action();
    return bytes_allocated.load();
  }

  ModelDescription config = [] {
    ModelDescription tiny = small_model(GetParam());
    tiny.hidden_size = 8;
    for (LayerDescription& layer : tiny.layers) {
      layer.attention.heads = layer.attention.key_heads = 2;
      layer.attention.head_size = 4;
      layer.feed_forward->size = 16;
    }
    tiny.position_count = kLength + tiny.first_position;
    return tiny;
  }();
  const RandomCheckpoint checkpoint{config};
  const Transformer transformer{config, checkpoint.source()};
  TokenBatch batch;
};
INSTANTIATE_TEST_SUITE_P(Families, EncoderMemory, testing::Values("mpnet", "gpt2"),
                         [](const auto& family) { return std::string(family.param); });

TEST_P(EncoderMemory, OfGradientsIsLinear) {
  const Tensor d_out(DType::f32, {kLength, config.hidden_size});
  EXPECT_LT(allocated([&] { transformer.gradients(batch, d_out); }), kMatrix / 6);
}

TEST_P(EncoderMemory, OfEditsIsLinear) {
  PassEdits edits;
  for (std::int64_t query = 0; query < 20; ++query) edits.edges.push_back({.query = 100 * query, .key = 5});
  EXPECT_LT(allocated([&] { transformer.forward(batch, {}, {}, edits); }), kMatrix / 6);
}

}  // namespace
}  // namespace attend
