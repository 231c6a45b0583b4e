// The results of a pass in which heads and edges are changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "model/float64_transformer.h"
#include "model/golden_model.h"
#include "model/weights.h"
#include "support/refuses.h"

namespace attend {
namespace {

class Edits : public EachGoldenModel {};
INSTANTIATE_TEST_SUITE_P(Families, Edits, testing::ValuesIn(kGoldenModels), golden_name);

// Several edits of every kind, two of them of one edge and two of one head. Text 2 has 19 tokens.
PassEdits some_edits() {
  return {.heads = {{.layer = 1, .head = 3},
                    {.layer = 2, .head = 1, .scale = 3},
                    {.layer = 2, .head = 1, .scale = -0.7}},
          .edges = {{.query = 12, .key = 3, .text = 2},
                    {.layer = 2, .query = 18, .key = 18, .text = 2, .scale = 0.1},
                    {.layer = 2, .head = 2, .query = 18, .key = 18, .text = 2, .scale = 7},
                    {.layer = 1, .head = 4, .query = 18, .key = 0, .text = 2, .scale = -1.3},
                    {.layer = 1, .head = 4, .query = 2, .key = 17, .text = 2, .scale = 5},
                    {.query = 6, .key = 1, .text = 0, .scale = 2}}};
}

// The same as hooks of the float64 pass over one text.
PassHooks hooks_of(const PassEdits& edits, std::int64_t text, std::int64_t head_size) {
  return {.weights =
              [=](std::int64_t layer, std::int64_t head_index, Matrix& weights) {
                for (const EdgeEdit& edge : edits.edges) {
                  if (edge.text == text && (edge.layer == 0 || edge.layer == layer) &&
                      (edge.head == EdgeEdit::kEveryHead || edge.head == head_index + 1))
                    weights.at(edge.query, edge.key) *= edge.scale;
                }
              },
          .attended =
              [=](std::int64_t layer, Matrix& attended) {
                for (const HeadEdit& edit : edits.heads) {
                  if (edit.layer != layer) continue;
                  for (std::int64_t i = 0; i < attended.rows; ++i)
                    for (std::int64_t d = 0; d < head_size; ++d)
                      attended.at(i, (edit.head - 1) * head_size + d) *= edit.scale;
                }
              }};
}

Tensor tensor_of(const Matrix& matrix) {
  Tensor tensor(DType::f64, {matrix.rows, matrix.columns});
  std::copy(matrix.values.begin(), matrix.values.end(), tensor.values<double>().begin());
  return tensor;
}

TEST_P(Edits, AgreeWithAFloat64TransformerWhoseWeightsAreChanged) {
  const Transformer transformer(config, tensors);
  const Float64Transformer judge(config, tensors);
  const TokenBatch texts = batch();
  const PassEdits edits = some_edits();
  const Tensor plain = transformer.forward(texts), edited = transformer.forward(texts, {}, {}, edits);
  for (std::int64_t text = 0; text < texts.texts(); ++text) {
    const auto at = static_cast<std::size_t>(text);
    const auto rows = [&](const Tensor& all) {
      return all.view().slice(0, texts.ends[at], texts.ends[at + 1]);
    };
    const std::int64_t head_size = config.layers.front().attention.head_size;
    const Matrix expected = judge.forward(text_of(texts, text), hooks_of(edits, text, head_size));
    EXPECT_LT(max_abs_difference(rows(edited), tensor_of(expected)), 1e-5) << "text " << text;
    EXPECT_GT(max_abs_difference(rows(edited), rows(plain)), 1e-3) << "text " << text;
  }
}

TEST_P(Edits, AnObserverSeesWhatTheHeadsBecame) {
  const Transformer transformer(config, tensors);
  const Float64Transformer judge(config, tensors);
  const TokenBatch texts = batch();
  const PassEdits edits = some_edits();
  const std::int64_t head_size = config.layers.front().attention.head_size;
  PassHooks hooks = hooks_of(edits, 2, head_size);
  std::vector<Tensor> expected;
  hooks.attended = [&expected, edit = hooks.attended](std::int64_t layer, Matrix& attended) {
    edit(layer, attended);
    expected.push_back(tensor_of(attended));
  };
  judge.forward(text_of(texts, 2), hooks);
  transformer.forward(
      texts,
      [&](const LayerMoment& moment) {
        if (moment.layer == 0) return;
        const Tensor seen = copy_of(moment.attended.slice(0, texts.ends[2], texts.ends[3]));
        EXPECT_LT(max_abs_difference(seen, expected[static_cast<std::size_t>(moment.layer) - 1].view().split(
                                               1, config.heads(), head_size)),
                  1e-5)
            << "layer " << moment.layer;
      },
      {}, edits);
}

TEST_P(Edits, ARemovedHeadIsOneWithZerosInTheOutputProjection) {
  const Transformer transformer(config, tensors);
  const model::TensorNames names = model::names_in(config, tensors);
  const std::string mixing = names.layers[1].out + ".weight";
  Tensor without = copy_of(tensors.tensor(mixing), DType::f32);
  const std::int64_t size = config.layers.front().attention.head_size;
  const Tensor nothing(DType::f32, {size, config.hidden_size});
  copy(nothing,
       (names.input_first ? without.view() : without.view().transposed(0, 1)).slice(0, 3 * size, 4 * size));
  TensorSource changed = tensors;
  changed.tensor = [&, original = tensors.tensor](const std::string& name) -> ConstTensorView {
    return name == mixing ? without : original(name);
  };
  const Tensor expected = Transformer(config, changed).forward(batch());
  PassEdits edits;  // of every layer that has these weights
  for (std::int64_t layer = 1; layer <= config.layer_count(); ++layer) {
    if (names.layers[static_cast<std::size_t>(layer) - 1].out == names.layers[1].out)
      edits.heads.push_back({.layer = layer, .head = 4});
  }
  const Tensor edited = transformer.forward(batch(), {}, {}, edits);
  EXPECT_EQ(max_abs_difference(edited, expected), 0);
  EXPECT_GT(max_abs_difference(edited, transformer.forward(batch())), 1e-3);
}

TEST_P(Edits, AFactorOfOneChangesNoBit) {
  const Transformer transformer(config, tensors);
  const PassEdits ones{.heads = {{.layer = 1, .head = 2, .scale = 1},
                                 {.layer = 2, .head = 1, .scale = 4},
                                 {.layer = 2, .head = 1, .scale = 0.25}},
                       .edges = {{.query = 3, .key = 2, .scale = 1},
                                 {.query = 5, .key = 2, .scale = 0.5},
                                 {.query = 5, .key = 2, .scale = 2}}};
  EXPECT_TRUE(same_bits(transformer.forward(batch(), {}, {}, ones), transformer.forward(batch())));
}

TEST_P(Edits, TheirOrderChangesNoBit) {
  const Transformer transformer(config, tensors);
  PassEdits edits = some_edits();
  // Products of three, which depend on the order in which they are taken.
  for (const double scale : {0.1, 0.3, 0.7}) {
    edits.heads.push_back({.layer = 1, .head = 2, .scale = scale});
    edits.edges.push_back({.layer = 1, .head = 1, .query = 11, .key = 7, .text = 2, .scale = scale});
  }
  const Tensor expected = transformer.forward(batch(), {}, {}, edits);
  for (int turn = 0; turn < 4; ++turn) {
    std::rotate(edits.heads.begin(), edits.heads.begin() + 1, edits.heads.end());
    std::rotate(edits.edges.begin(), edits.edges.begin() + 2, edits.edges.end());
    EXPECT_TRUE(same_bits(transformer.forward(batch(), {}, {}, edits), expected));
  }
}

TEST_P(Edits, OtherTextsKeepTheirBitsAndSoDoesATextAlone) {
  const Transformer transformer(config, tensors);
  const TokenBatch texts = batch();
  const PassEdits third{.edges = {{.query = 4, .key = 1, .text = 2}}};
  const Tensor plain = transformer.forward(texts), edited = transformer.forward(texts, {}, {}, third);
  EXPECT_TRUE(same_bits(edited.view().slice(0, 0, texts.ends[2]), plain.view().slice(0, 0, texts.ends[2])));
  TokenBatch alone;
  alone.add(text_of(texts, 2));
  EXPECT_TRUE(same_bits(transformer.forward(alone, {}, {}, {.edges = {{.query = 4, .key = 1}}}),
                        edited.view().slice(0, texts.ends[2], texts.ends[3])));
}

class EditsOfBert : public EachGoldenModel {};
INSTANTIATE_TEST_SUITE_P(Families, EditsOfBert, testing::Values("bert"), golden_name);

TEST_P(EditsOfBert, RefuseWhatDoesNotExist) {
  const Transformer transformer(config, tensors);
  const auto with_head = [&](const HeadEdit& edit) {
    return transformer.forward(batch(), {}, {}, {.heads = {edit}});
  };
  const auto with_edge = [&](const EdgeEdit& edit) {
    return transformer.forward(batch(), {}, {}, {.edges = {{.query = 1, .key = 0}, edit}});
  };
  EXPECT_REFUSES(with_head({.layer = 0}), "[model] edits.heads[0].layer is 0, and layers count from 1 to 2");
  EXPECT_REFUSES(with_head({.layer = 3}), "edits.heads[0].layer is 3, and layers count from 1 to 2");
  EXPECT_REFUSES(with_head({.layer = 1, .head = 0}), "edits.heads[0].head is 0, and heads count from 1 to 4");
  EXPECT_REFUSES(with_head({.layer = 1, .head = 5}), "edits.heads[0].head is 5, and heads count from 1 to 4");
  EXPECT_REFUSES(with_head({.scale = std::numeric_limits<double>::quiet_NaN()}),
                 "edits.heads[0].scale is nan, expected a finite number");
  EXPECT_REFUSES(with_edge({.layer = -1}), "edits.edges[1].layer is -1, and layers count from 1 to 2");
  EXPECT_REFUSES(with_edge({.head = -1}), "edits.edges[1].head is -1, and heads count from 1 to 4");
  EXPECT_REFUSES(with_edge({.text = 4}), "edits.edges[1].text is 4, but there are 4 texts, counted from 0");
  EXPECT_REFUSES(with_edge({.query = 7}),
                 "edits.edges[1].query is 7, but there are 7 tokens in its text, counted from 0");
  EXPECT_REFUSES(with_edge({.key = -1}),
                 "edits.edges[1].key is -1, but there are 7 tokens in its text, counted from 0");
  EXPECT_REFUSES(with_edge({.scale = HUGE_VAL}), "edits.edges[1].scale is inf, expected a finite number");
  EXPECT_REFUSES(transformer.forward(TokenBatch{}, {}, {}, {.edges = {{}}}),
                 "edits.edges[0].text is 0, but there are 0 texts, counted from 0");
}

}  // namespace
}  // namespace attend
