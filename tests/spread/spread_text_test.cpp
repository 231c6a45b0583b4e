// One text through a model, by several processes: each token has the bits that it has in one process.
#include <attend/spread_text.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/random_checkpoint.h"
#include "support/compare.h"
#include "support/refuses.h"
#include "support/thread_processes.h"

namespace attend {
namespace {

std::vector<std::int32_t> some_ids(std::int64_t count) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>((7 * i + i / 5) % 50));
  return ids;
}

// Positions of every kind but relative ones, windows, causal, caps, grouped heads.
class SpreadText : public testing::TestWithParam<const char*> {
 protected:
  const ModelDescription config = small_model(GetParam());
  const RandomCheckpoint checkpoint{config};
  const Transformer transformer{config, checkpoint.source()};
};
INSTANTIATE_TEST_SUITE_P(Families, SpreadText,
                         testing::Values("bert", "roberta", "distilbert", "albert", "nomic_bert",
                                         "modernbert", "gpt2", "gemma2", "llama", "qwen3"));

TEST_P(SpreadText, TokensAreThoseOfOneProcess) {
  for (const std::int64_t length : {1, 5, 19, 64}) {
    const std::vector<std::int32_t> ids = some_ids(length);
    TokenBatch batch;
    batch.add(ids);
    for (const std::optional<std::int64_t> layers :
         {std::optional<std::int64_t>(), std::optional<std::int64_t>(1)}) {
      const Tensor whole = transformer.forward(batch, {}, layers);
      as_processes(3, [&](Processes& processes) {
        const ZigzagCut cut(length, processes.count());
        for (const SpreadWay way : {SpreadWay::ring, SpreadWay::gathered, SpreadWay::heads}) {
          const Tensor own = spread_forward(processes, way, transformer, ids, layers);
          std::int64_t at = 0;
          for (const RowChunk& chunk : cut.chunks_of(processes.rank())) {
            const ConstTensorView got = own.view().slice(0, at, at + chunk.rows()),
                                  expected = whole.view().slice(0, chunk.first, chunk.last);
            EXPECT_LE(max_abs_difference(got, expected), 2e-5) << name_of(way) << ", " << length << " tokens";
            EXPECT_TRUE(way == SpreadWay::ring || same_bits(got, expected))
                << name_of(way) << ", " << length << " tokens, process " << processes.rank();
            at += chunk.rows();
          }
        }
      });
    }
  }
}

TEST(SpreadTexts, RefuseWhatIsNotShared) {
  const ModelDescription config = small_model("mpnet");
  const RandomCheckpoint checkpoint(config);
  const Transformer relative(config, checkpoint.source());
  Mailbox mailbox;
  ThreadProcesses alone(mailbox, 0, 1);
  EXPECT_REFUSES(spread_forward(alone, SpreadWay::ring, relative, some_ids(4)),
                 "a text of a model with relative positions is not shared");
  const ModelDescription small = small_model("bert");
  const RandomCheckpoint numbers(small);
  const Transformer bert(small, numbers.source());
  EXPECT_REFUSES(spread_forward(alone, SpreadWay::ring, bert, some_ids(71)),
                 "the text has 71 tokens, but the model has positions for only 70");
  EXPECT_REFUSES(spread_forward(alone, SpreadWay::ring, bert, std::vector<std::int32_t>{3, 50}),
                 "id 50 of token 1 is outside the vocabulary");
}

}  // namespace
}  // namespace attend
