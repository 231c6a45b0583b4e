// Attention over several processes, which are threads here: every option, forward, backward and the weights.
#include <attend/spread_attention.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "spread/spread_checks.h"
#include "support/random.h"
#include "support/refuses.h"
#include "support/thread_processes.h"

namespace attend {
namespace {

constexpr int kCounts[] = {1, 2, 3, 4};

class SpreadOver : public testing::TestWithParam<int> {};

TEST_P(SpreadOver, ForwardIsThatOfOneProcess) {
  as_processes(GetParam(), [](Processes& processes) {
    for (const SpreadCase& one : spread_cases()) check_forward(processes, one);
  });
}

TEST_P(SpreadOver, BackwardIsThatOfOneProcess) {
  as_processes(GetParam(), [](Processes& processes) {
    for (const SpreadCase& one : spread_cases()) check_backward(processes, one);
  });
}

TEST_P(SpreadOver, WeightsAreThoseOfOneProcess) {
  as_processes(GetParam(), [](Processes& processes) {
    for (const SpreadCase& one : spread_cases()) check_weights(processes, one);
  });
}

TEST_P(SpreadOver, VolumeIsAsPredicted) { as_processes(GetParam(), check_volume); }

TEST_P(SpreadOver, MessagesArriveInTheirOrder) {
  as_processes(GetParam(), [](Processes& processes) { check_messages(processes, 100000); });
}

INSTANTIATE_TEST_SUITE_P(Processes, SpreadOver, testing::ValuesIn(kCounts));

// More processes than heads, and than a short sequence has chunks.
TEST(Spread, MoreProcessesThanHeads) {
  as_processes(7, [](Processes& processes) {
    const SpreadCase one{.name = "two key heads", .queries = 50, .keys = 50, .options = {.causal = true}};
    check_forward(processes, one);
    check_backward(processes, one);
    check_weights(processes, one);
  });
}

TEST(Spread, F64IsThatOfOneProcess) {
  as_processes(3, [](Processes& processes) {
    const SpreadCase one{.name = "f64", .options = {.causal = true}, .dtype = DType::f64};
    check_forward(processes, one);
    check_weights(processes, one);
  });
}

TEST(ZigzagCut, CoversEveryRowOnce) {
  for (const std::int64_t rows : {0, 1, 5, 8, 61, 1000}) {
    for (const int count : {1, 2, 3, 7}) {
      const ZigzagCut cut(rows, count);
      std::vector<int> owners(static_cast<std::size_t>(rows));
      for (int process = 0; process < count; ++process) {
        std::int64_t have = 0;
        for (const RowChunk& chunk : cut.chunks_of(process)) {
          for (std::int64_t row = chunk.first; row < chunk.last; ++row)
            ++owners[static_cast<std::size_t>(row)];
          have += chunk.rows();
        }
        EXPECT_EQ(have, cut.rows_of(process));
        EXPECT_LE(std::abs(have - rows / count), 2);
      }
      EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), rows);
    }
  }
  const auto [first, second] = ZigzagCut(80, 4).chunks_of(1);
  EXPECT_EQ(first.first, 10);
  EXPECT_EQ(first.last, 20);
  EXPECT_EQ(second.first, 60);
  EXPECT_EQ(second.last, 70);
}

// With causal attention each process looks at as many keys as any other.
TEST(ZigzagCut, SharesCausalWorkEqually) {
  const ZigzagCut cut(800, 4);
  for (int process = 0; process < 4; ++process) {
    std::int64_t pairs = 0;
    for (const RowChunk& chunk : cut.chunks_of(process)) {
      for (std::int64_t row = chunk.first; row < chunk.last; ++row) pairs += row + 1;
    }
    EXPECT_EQ(pairs, 800 * 801 / 2 / 4);
  }
}

class SpreadRefuses : public testing::Test {
 protected:
  // One process of one: nothing is sent.
  void forward(const AttentionOptions& options) { call(options, SpreadWay::ring); }
  void call(const AttentionOptions& options, SpreadWay way) {
    Tensor out(DType::f32, q.shape());
    spread_attention(alone, way, {6, 6}, q, q, q, options, out);
  }
  Mailbox mailbox;
  ThreadProcesses alone{mailbox, 0, 1};
  Tensor q = random_normal({1, 2, 6, 4}, DType::f32, 1);
  RowState state{q};
};

TEST_F(SpreadRefuses, WhatCannotBeSpread) {
  EXPECT_REFUSES(forward({.dropout = 0.1}), "dropout is not spread over processes");
  EXPECT_REFUSES(forward({.cumulative_query_lengths = {0, 6}, .cumulative_key_lengths = {0, 6}}),
                 "packed sequences are not spread over processes");
  EXPECT_REFUSES(forward({.sinks = {1}}), "sinks has 1 entries for 2 query heads");
  EXPECT_REFUSES(forward({.key_lengths = {7}}), "key_lengths holds 7, expected 0 to 6");
  const Tensor bias = random_normal({6, 6}, DType::f32, 2), narrow = random_normal({6, 5}, DType::f32, 2);
  EXPECT_REFUSES(call({.bias = bias}, SpreadWay::heads), "bias has rows of its own for each query");
  EXPECT_REFUSES(forward({.bias = narrow}), "bias has shape (6, 5), expected 1 or 6 keys");
}

TEST_F(SpreadRefuses, ShapesThatDoNotFit) {
  Tensor out(DType::f32, q.shape());
  EXPECT_REFUSES(spread_attention(alone, SpreadWay::ring, {7, 6}, q, q, q, {}, out),
                 "query has 6 rows, but process 0 of 1 has 7 of the sequence's 7");
  EXPECT_REFUSES(spread_attention(alone, SpreadWay::ring, {6, 6}, q, q, {}, {}, out), "value is not given");
  EXPECT_REFUSES(ZigzagCut(-1, 2), "a sequence of -1 rows");
  EXPECT_REFUSES(ZigzagCut(10, 0), "0 processes");
}

TEST_F(SpreadRefuses, WhatIsNotMade) {
  Tensor out(DType::f32, q.shape()), bias(DType::f32, {6, 6});
  const AttentionOptions biased{.bias = bias};
  EXPECT_REFUSES(spread_attention_backward(alone, SpreadWay::ring, {6, 6}, q, q, q, biased, out, state, out,
                                           {.bias = bias}),
                 "the gradient of a bias is not spread");
  EXPECT_REFUSES(spread_weights(alone, SpreadWay::ring, {6, 6}, q, q, {}, {.top_k = 1}, {}),
                 "row_state is not given");
  EXPECT_REFUSES(
      spread_weights(alone, SpreadWay::ring, {6, 6}, q, q, {}, {.map_rows = 2, .map_columns = 2}, state),
      "maps are not spread");
  const Tensor wide = copy_of(q, DType::f64);
  Tensor wide_out(DType::f64, q.shape()), d_q(DType::f64, q.shape());
  const RowState wide_state{wide};
  EXPECT_REFUSES(spread_attention_backward(alone, SpreadWay::ring, {6, 6}, wide, wide, wide, {}, wide_out,
                                           wide_state, wide_out, {.q = d_q}),
                 "there are no gradients of f64 around a ring");
}

TEST_F(SpreadRefuses, MessagesToNobody) {
  const std::byte nothing[1] = {};
  const Outgoing to_itself[] = {{0, nothing}};
  EXPECT_REFUSES(alone.start(to_itself, {}, nullptr), "a message was sent to process 0 by process 0 of 1");
}

// A process that fails ends the others, which wait for it.
TEST(Spread, AFailureLeavesNobodyWaiting) {
  const auto fail = [](Processes& processes) {
    if (processes.rank() == 1) throw std::runtime_error("one has failed");
    check_forward(processes, spread_cases().front());
  };
  EXPECT_THROW(as_processes(3, fail), std::runtime_error);
}

// A long call around a ring can be ended like any other, between two tiles of a block.
TEST(Spread, CanBeInterrupted) {
  struct Ended {};
  Mailbox mailbox;
  ThreadProcesses alone(mailbox, 0, 1);
  const Tensor q = random_normal({1, 4, 4096, 64}, DType::f32, 1);
  Tensor out(DType::f32, q.shape());
  const Interruptible watch([] { throw Ended(); });
  EXPECT_THROW(spread_attention(alone, SpreadWay::ring, {4096, 4096}, q, q, q, {}, out), Ended);
}

}  // namespace
}  // namespace attend
