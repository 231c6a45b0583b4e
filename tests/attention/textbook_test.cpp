// The reference against a second opinion: a full-matrix implementation that shares no code with the library.
#include <attend/reference.h>
#include <gtest/gtest.h>

#include "support/arbitrary_case.h"
#include "support/compare.h"
#include "support/textbook.h"

namespace attend {
namespace {

TEST(Reference, AgreesWithTheTextbookForEveryCombinationOfOptions) {
  EXPECT_PROPERTY("output and row state", [] {
    const AttentionCase c = arbitrary_case(DType::f64, 24);
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const Textbook expected = textbook_attention(in.q, in.k, in.v, in.options);
    Tensor out = in.output(DType::f64);
    RowState state(in.q);
    reference::attention(in.q, in.k, in.v, in.options, out, state);
    RC_ASSERT(max_abs_difference(out, expected.output) <= 1e-13);
    RC_ASSERT(max_abs_difference(state.max, expected.max) <= 1e-13);
    RC_ASSERT(max_abs_difference(state.sum, expected.sum) <= 1e-11);
  });
}

TEST(Reference, AllFourStagesAgreeWithTheTextbook) {
  EXPECT_PROPERTY("stages of every row", [] {
    AttentionCase c = arbitrary_case(DType::f64, 16);
    c.packed = false;
    RC_LOG(describe(c));
    const AttentionInputs in = make_inputs(c);
    const Textbook expected = textbook_attention(in.q, in.k, in.v, in.options);
    const Dims shape{c.batch, c.query_heads(), c.queries, c.keys};
    const auto check = [&](Stage stage, const std::vector<double>& values) {
      const Tensor rows = reference::attention_rows(in.q, in.k, in.options, stage);
      RC_ASSERT(max_abs_difference(rows, Tensor::from<double>(shape, values)) <= 1e-13);
    };
    check(Stage::scores, expected.scores);
    check(Stage::capped, expected.capped);
    check(Stage::biased, expected.biased);
    check(Stage::weights, expected.weights);
  });
}

}  // namespace
}  // namespace attend
