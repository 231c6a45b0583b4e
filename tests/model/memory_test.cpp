// O(n) memory through a whole encoder: passes with edits, and gradients. Every allocation of this program is
// counted.
#include <attend/encoder.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "model/random_checkpoint.h"
#include "support/counting_new.h"

namespace attend {
namespace {

constexpr std::int64_t kLength = 3000;
constexpr std::size_t kMatrix = static_cast<std::size_t>(kLength * kLength) * sizeof(float);

// MPNet, whose bias has an entry for each pair of tokens, and GPT-2.
class EncoderMemory : public testing::TestWithParam<ModelFamily> {
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

  ModelConfig config = [] {
    ModelConfig tiny = small_model(GetParam());
    tiny.hidden_size = 8;
    tiny.heads = 2;
    tiny.intermediate_size = 16;
    tiny.positions = kLength + tiny.first_position;
    return tiny;
  }();
  const RandomCheckpoint checkpoint{config};
  const Encoder encoder{config, checkpoint.source()};
  TokenBatch batch;
};
INSTANTIATE_TEST_SUITE_P(Families, EncoderMemory, testing::Values(ModelFamily::mpnet, ModelFamily::gpt2),
                         [](const auto& family) { return std::string(name_of(family.param)); });

TEST_P(EncoderMemory, OfGradientsIsLinear) {
  const Tensor d_out(DType::f32, {kLength, config.hidden_size});
  EXPECT_LT(allocated([&] { encoder.gradients(batch, d_out); }), kMatrix / 6);
}

TEST_P(EncoderMemory, OfEditsIsLinear) {
  EncoderEdits edits;
  for (std::int64_t query = 0; query < 20; ++query) edits.edges.push_back({.query = 100 * query, .key = 5});
  EXPECT_LT(allocated([&] { encoder.forward(batch, {}, {}, edits); }), kMatrix / 6);
}

}  // namespace
}  // namespace attend
