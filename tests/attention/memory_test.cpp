// O(n) memory: nothing of size n x n is allocated unless the caller asks for that very matrix. Every
// allocation of this program is counted.
#include <attend/attention_backward.h>
#include <attend/reference.h>
#include <attend/threads.h>
#include <attend/weights.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "support/counting_new.h"
#include "support/random.h"

namespace attend {
namespace {

constexpr std::int64_t kLength = 3000, kSize = 4;
constexpr std::size_t kMatrix = static_cast<std::size_t>(kLength * kLength) * sizeof(float);

// Bytes that `action` allocates in all.
template <class Action>
std::size_t allocated(Action action) {
  bytes_allocated = 0;
  action();
  return bytes_allocated.load();
}

struct Long {
  Long() { set_threads(2); }  // scratch is one piece per thread, and machines differ
  ~Long() { set_threads(0); }
  Tensor q = random_normal({1, 1, kLength, kSize}, DType::f32, 1);
  Tensor k = random_normal({1, 1, kLength, kSize}, DType::f32, 2);
  Tensor out{DType::f32, {1, 1, kLength, kSize}};
  RowState state{q};
};

TEST(Memory, ForwardIsLinear) {
  Long c;
  AttentionOptions options;
  options.causal = true;
  options.alibi_slopes = {0.1};
  EXPECT_LT(allocated([&] { attention(c.q, c.k, c.k, options, c.out, c.state); }), kMatrix / 50);
  EXPECT_LT(allocated([&] { reference::attention(c.q, c.k, c.k, options, c.out); }), kMatrix / 50);
}

TEST(Memory, HalfPrecisionAndOddStridesCopyTheirOwnSizeOnly) {
  Long c;
  const Tensor half = copy_of(c.q, DType::bf16);
  EXPECT_LT(allocated([&] { attention(half, half, half, {}, c.out); }), kMatrix / 50);
  const Tensor columns = random_normal({1, 1, kSize, kLength}, DType::f32, 3);
  EXPECT_LT(allocated([&] { attention(columns.view().transposed(2, 3), c.k, c.k, {}, c.out); }),
            kMatrix / 50);
}

// A bias that repeats over the queries (stride 0) is converted without being written out n times.
TEST(Memory, ABroadcastBiasIsNotWrittenOut) {
  Long c;
  const Tensor row = random_normal({kLength}, DType::bf16, 3);
  AttentionOptions options;
  options.bias = ConstTensorView(row.view().raw(), DType::bf16, {1, 1, kLength, kLength}, {0, 0, 0, 1});
  EXPECT_LT(allocated([&] { attention(c.q, c.k, c.k, options, c.out); }), kMatrix / 50);
}

TEST(Memory, OneRowOfWeightsCostsOneRow) {
  Long c;
  EXPECT_LT(allocated([&] { attention_rows(c.q, c.k, {}, Stage::weights, {.rows = {7}}); }), kMatrix / 50);
}

TEST(Memory, SummariesOfWeightsAreLinear) {
  Long c;
  const WeightsRequest request{
      .top_k = 4, .received = true, .entropy = true, .map_rows = 50, .map_columns = 60};
  // With short vectors, and so short tiles, the queries are cut into the most pieces: 32 float64 sums a key.
  EXPECT_LT(allocated([&] { summarize_weights(c.q, c.k, {}, request); }), kMatrix / 30);
  EXPECT_LT(allocated([&] { summarize_weights(c.q, c.k, {}, request, c.state); }), kMatrix / 30);
  AttentionOptions options;
  options.window = {16, 16};  // so that the reference has little to do
  EXPECT_LT(allocated([&] { reference::summarize_weights(c.q, c.k, options, request); }), kMatrix / 20);
}

// The goal in full: forward, top-8 and a map of 1024 x 1024. The window saves time, no memory.
TEST(Memory, ASummaryOf65536RowsTakesLessThan100MB) {
  const Long two_threads;
  const Tensor q = random_normal({1, 1, 65'536, 64}, DType::f32, 1);
  AttentionOptions options;
  options.window = {64, 64};
  Tensor out(DType::f32, q.shape());
  RowState state(q);
  const std::size_t outputs = allocated([&] {
    Tensor other(DType::f32, q.shape());
    RowState another(q);
  });
  EXPECT_LT(outputs + allocated([&] {
              attention(q, q, q, options, out, state);
              summarize_weights(q, q, options, {.top_k = 8, .map_rows = 1024, .map_columns = 1024}, state);
            }),
            100'000'000u);
}

TEST(Memory, BackwardIsLinear) {
  Long c;
  Tensor d_q(DType::f32, c.q.shape()), d_k(DType::f32, c.q.shape()), d_v(DType::f32, c.q.shape());
  AttentionOptions options;
  options.window = {16, 16};  // so that the reference has little to do
  EXPECT_LT(allocated([&] {
              reference::attention_backward(c.q, c.k, c.k, options, c.out, {.q = d_q, .k = d_k, .v = d_v});
            }),
            kMatrix / 20);

  options.alibi_slopes = {0.1};
  options.sinks = {0.5};
  attention(c.q, c.k, c.k, options, c.out, c.state);
  const Tensor bias = random_normal({1, kLength}, DType::f32, 3), d_out = copy_of(c.q);
  options.bias = bias;
  Tensor d_bias(DType::f32, bias.shape()), d_slopes(DType::f32, {1}), d_sinks(DType::f32, {1});
  EXPECT_LT(allocated([&] {
              attention_backward(
                  c.q, c.k, c.k, options, c.out, c.state, d_out,
                  {.q = d_q, .k = d_k, .v = d_v, .bias = d_bias, .alibi_slopes = d_slopes, .sinks = d_sinks});
            }),
            kMatrix / 20);
}

// The caller's own matrix is added to in place.
TEST(Memory, TheGradientOfABiasMatrixCostsNoSecondMatrix) {
  Long c;
  Tensor d_bias(DType::f32, {kLength, kLength});
  const Tensor bias(DType::f32, {kLength, kLength}), d_out = copy_of(c.q);
  AttentionOptions options;
  options.bias = bias;
  attention(c.q, c.k, c.k, options, c.out, c.state);
  EXPECT_LT(
      allocated([&] { attention_backward(c.q, c.k, c.k, options, c.out, c.state, d_out, {.bias = d_bias}); }),
      kMatrix / 20);
}

TEST(Memory, TheCountersCount) {
  EXPECT_GE(allocated([] { Tensor(DType::f32, {kLength, kLength}); }), kMatrix);
  EXPECT_GE(allocated([] { std::vector<float>(kLength * kLength); }), kMatrix);
}

}  // namespace
}  // namespace attend
