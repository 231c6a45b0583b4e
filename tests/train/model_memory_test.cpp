// The predicted memory of a model is what it takes.
#include "train/model_memory.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/refuses.h"
#include "train/small_models.h"

namespace attend::train {
namespace {

// Sizes are whole cache lines, so that rounding adds nothing and the numbers are the same to the last byte.
ModelShape in_whole_lines(ModelShape shape) {
  shape.vocabulary = 48;
  shape.length = 16;
  shape.hidden = 32;
  shape.heads = 4;
  shape.inner = 80;
  return shape;
}

void expect_same(const ModelShape& shape, DType dtype) {
  constexpr std::int64_t kSequences = 3;
  SmallModel model(shape, kSequences, dtype);
  const ModelMemory memory = model_memory(shape.description(), shape.options(kSequences), dtype);
  EXPECT_EQ(memory.activations, static_cast<double>(model.activation_bytes()));
  EXPECT_EQ(memory.parameters, static_cast<double>(4 * model.parameters().numbers() *
                                                   static_cast<std::int64_t>(size_of(dtype))));
}

TEST(ModelMemory, MatchesEveryModel) {
  for (const NamedShape& model : small_models()) {
    for (const bool norm_first : {false, true}) {
      if (!norm_first && model.name == "parallel") continue;  // which needs norms before the parts
      for (const bool recompute : {false, true}) {
        SCOPED_TRACE(joined(model.name, ' ', norm_first, ' ', recompute));
        ModelShape shape = in_whole_lines(model.shape);
        shape.norm_first = norm_first;
        shape.recompute = recompute;
        expect_same(shape, DType::f32);
        expect_same(shape, DType::f64);
        shape.precision = Precision::bf16;
        expect_same(shape, DType::f32);
      }
    }
  }
}

// The size of the scratch memory is decided by the head, or the feed-forward part, or the batch.
TEST(ModelMemory, MatchesWideModels) {
  ModelShape shape = in_whole_lines(tiny(ModelKind::decoder));
  shape.layers = 1;
  shape.vocabulary = 16384;
  expect_same(shape, DType::f32);
  shape.tied = false;
  shape.inner = 4096;
  expect_same(shape, DType::f32);
  shape.length = 1024;
  expect_same(shape, DType::f32);
}

TEST(ModelMemory, AModelThatCannotFitIsRefusedBeforeItIsMade) {
  ModelShape shape = tiny(ModelKind::decoder);
  shape.hidden = kLargestModelSize;
  EXPECT_REFUSES(SmallModel(shape, 1), "would take 39.4 PB to learn in batches of 1");
  shape = tiny(ModelKind::decoder);
  shape.layers = model::kMostOwnLayers + 1;
  EXPECT_REFUSES(SmallModel(shape, 1), "layers is 4097, expected a number from 1 to 4096");
  shape = tiny(ModelKind::decoder);
  shape.vocabulary = shape.length = kLargestModelSize;
  EXPECT_REFUSES(SmallModel(shape, kLargestModelSize), "would take");
  EXPECT_REFUSES(SmallModel(tiny(ModelKind::decoder), std::int64_t{1} << 60),
                 "a batch has 1152921504606846976 sequences, expected 1 to 16777216");
}

// Its parameters can be compared with a file first.
TEST(ModelMemory, AModelMayWaitForItsMemory) {
  const ModelShape shape = tiny(ModelKind::decoder);
  SmallModel later(shape, 2, DType::f32, Model::Memory::later), now(shape, 2);
  EXPECT_EQ(later.activation_bytes(), 0);
  EXPECT_EQ(later.parameters().numbers(), now.parameters().numbers());
  later.allocate();
  EXPECT_EQ(later.activation_bytes(), now.activation_bytes());
}

}  // namespace
}  // namespace attend::train
