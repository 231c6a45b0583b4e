// Weights on the fast path: chosen rows of any stage, in fp32, against float64 and against the output they
// explain.
#include <attend/reference.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/arbitrary_case.h"
#include "support/compare.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr Stage kStages[] = {Stage::scores, Stage::capped, Stage::biased, Stage::weights};

TEST(Stages, EveryStageIsExact) {
  EXPECT_PROPERTY("fp32 rows against float64", [] {
    const AttentionCase c = arbitrary_case();
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    for (const Stage stage : kStages) {
      const Tensor got = attention_rows(in.q, in.k, in.options, stage);
      RC_ASSERT(got.dtype() == DType::f32);
      RC_ASSERT(max_abs_difference(got, reference::attention_rows(in.q, in.k, in.options, stage)) <= 1e-5);
    }
  });
}

TEST(Stages, ChosenRowsAreTheRowsOfTheWhole) {
  EXPECT_PROPERTY("any sequences, heads and rows, in any order, repeated or not", [] {
    AttentionCase c = arbitrary_case();
    c.packed = false;
    RC_PRE(c.queries > 0);
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const auto pick = [](std::int64_t size) {
      std::vector<std::int64_t> list;
      for (int i = 0; i < 3; ++i) list.push_back(*rc::gen::inRange<std::int64_t>(0, size));
      return list;
    };
    const auto sequences = pick(c.batch), heads = pick(c.query_heads()), rows = pick(c.queries);
    for (const Stage stage : kStages) {
      const Tensor all = attention_rows(in.q, in.k, in.options, stage);
      const Tensor some = attention_rows(in.q, in.k, in.options, stage, {sequences, heads, rows});
      RC_ASSERT(some.shape() == (Dims{3, 3, 3, c.keys}));
      for (std::size_t a = 0; a < 3; ++a) {
        for (std::size_t b = 0; b < 3; ++b) {
          for (std::size_t r = 0; r < 3; ++r) {
            const auto at = [](ConstTensorView view, std::int64_t x, std::int64_t y, std::int64_t z) {
              return view.select(0, x).select(0, y).select(0, z);
            };
            const auto i = [](std::size_t value) { return static_cast<std::int64_t>(value); };
            RC_ASSERT(same_bits(at(some, i(a), i(b), i(r)), at(all, sequences[a], heads[b], rows[r])));
          }
        }
      }
    }
  });
}

TEST(Stages, WeightsTimesValuesIsTheOutput) {
  EXPECT_PROPERTY("the weights explain the result", [] {
    AttentionCase c = arbitrary_case();
    c.packed = false;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const std::vector<double> weights = values_of(attention_rows(in.q, in.k, in.options, Stage::weights));
    const std::vector<double> values = values_of(in.v),
                              out = values_of(attention(in.q, in.k, in.v, in.options));
    const auto n = static_cast<std::size_t>(c.keys), dv = static_cast<std::size_t>(c.dv);
    const std::size_t rows = static_cast<std::size_t>(c.queries);
    for (std::size_t row = 0; row < weights.size() / std::max<std::size_t>(n, 1); ++row) {
      const std::size_t head = row / rows;  // over batch and query heads
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += weights[row * n + j];
      RC_ASSERT(sum <= 1 + 1e-6);
      if (!c.sinks) RC_ASSERT(sum == 0 || std::abs(sum - 1) <= 1e-6);
      for (std::size_t x = 0; x < dv; ++x) {
        double expected = 0;
        for (std::size_t j = 0; j < n; ++j) {
          expected +=
              weights[row * n + j] * values[(head / static_cast<std::size_t>(c.group) * n + j) * dv + x];
        }
        RC_ASSERT(difference(out[row * dv + x], expected) <= 3e-6);
      }
    }
  });
}

TEST(Stages, PackedSequencesArePaddedWithWhatIsNotThere) {
  const Tensor q = Tensor::from<float>({3, 1, 1}, {1, 1, 1}), k = Tensor::from<float>({3, 1, 1}, {1, 2, 3});
  AttentionOptions options;
  options.scale = 1;
  options.cumulative_query_lengths = {0, 1, 3};
  options.cumulative_key_lengths = {0, 1, 3};
  const float minus = -std::numeric_limits<float>::infinity();
  const auto rows = [&](Stage stage) {
    return values_of(attention_rows(q, k, options, stage, {{0, 1}, {}, {0}}));
  };
  EXPECT_EQ(rows(Stage::scores), (std::vector<double>{1, minus, 2, 3}));
  EXPECT_EQ(rows(Stage::biased), (std::vector<double>{1, minus, 2, 3}));
  EXPECT_EQ(rows(Stage::weights)[0], 1);
  EXPECT_EQ(rows(Stage::weights)[1], 0);
  EXPECT_EQ(attention_rows(q, k, options, Stage::weights, {{1}, {}, {}}).shape(), (Dims{1, 1, 2, 2}));
  EXPECT_REFUSES(attention_rows(q, k, options, Stage::weights, {{0, 1}, {}, {1}}),
                 "[attention_rows] row 1 is out of range, there are 1");
}

TEST(Stages, NamesAndRefusals) {
  EXPECT_EQ(name_of(Stage::capped), "capped");
  const AttentionInputs in = make_inputs({});
  const auto rows = [&](const RowSelection& selection) {
    return attention_rows(in.q, in.k, in.options, Stage::weights, selection);
  };
  EXPECT_REFUSES(rows({{1}, {}, {}}), "[attention_rows] sequence 1 is out of range, there are 1");
  EXPECT_REFUSES(rows({{}, {-1}, {}}), "[attention_rows] head -1 is out of range, there are 1");
  EXPECT_REFUSES(rows({{}, {}, {4}}), "[attention_rows] row 4 is out of range, there are 4");
}

}  // namespace
}  // namespace attend
