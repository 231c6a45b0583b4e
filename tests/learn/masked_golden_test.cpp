// A folder that `attend train masked` wrote, and what transformers computes from it
// (tools/golden/make_masked.py): attend's own hidden states are as close to those in float64 as transformers'
// float32 is.
#include <attend/isa.h>
#include <attend/model_files.h>
#include <attend/tokenizer.h>
#include <attend/transformer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "learn/model_folder.h"
#include "learn/task.h"
#include "support/compare.h"

namespace attend::learn {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class MaskedGolden : public testing::Test {
 protected:
  const std::filesystem::path folder = std::filesystem::path(ATTEND_GOLDEN) / "masked";
  const ModelFiles files = find_model(folder.string());
  const Checkpoint weights = Checkpoint::open(files.weights);
  const Checkpoint golden = Checkpoint::open(folder / "golden.safetensors");
};

TEST_F(MaskedGolden, EveryLayerIsAsExactAsTransformers) {
  const Transformer transformer(read_model_description(files.config), tensors_of(weights));
  TokenBatch batch;
  for (const double id : values_of(golden.tensor("ids"))) batch.ids.push_back(static_cast<std::int32_t>(id));
  batch.ends.clear();
  for (const double end : values_of(golden.tensor("ends")))
    batch.ends.push_back(static_cast<std::int64_t>(end));
  for (const std::string& isa : available_isas()) {
    SCOPED_TRACE(isa);
    set_isa(isa);
    std::int64_t layers = 0;
    double worst = 0;
    transformer.forward(batch, [&](const LayerMoment& moment) {
      const std::string layer = std::to_string(moment.layer);
      const double theirs = values_of(golden.tensor("error." + layer))[0];
      const double ours = max_abs_difference(moment.hidden, golden.tensor("hidden." + layer));
      EXPECT_LE(ours, 1.5 * theirs) << "layer " << layer;
      worst = std::max(worst, ours / theirs);
      ++layers;
    });
    EXPECT_EQ(layers, 3);
    RecordProperty("worst_" + isa, std::to_string(worst));
  }
  set_isa("");
}

TEST_F(MaskedGolden, TextsBecomeTheSameTokens) {
  const Tokenizer tokenizer = Tokenizer::load(files);
  const std::vector<double> ids = values_of(golden.tensor("ids"));
  std::vector<std::int32_t> found;
  for (const char* const text :
       {"the animal was tired", "she [MASK]ead it twice, so", "x", "the dog did not cross the street"}) {
    const std::vector<std::int32_t> one = tokenizer.encode(text).ids;
    found.insert(found.end(), one.begin(), one.end());
  }
  EXPECT_EQ(std::vector<double>(found.begin(), found.end()), ids);
}

// What transformers opened is what would be written today.
TEST_F(MaskedGolden, TheFolderIsWhatIsWritten) {
  const model::OwnModel shape{.kind = model::ModelKind::encoder,
                              .vocabulary = 257,
                              .length = 32,
                              .layers = 2,
                              .hidden = 32,
                              .heads = 4,
                              .inner = 48,
                              .norm_first = false,
                              .feed_forward = model::FeedForwardKind::gelu,
                              .epsilon = 1e-12};
  EXPECT_EQ(text_of(files.config.path()), config_json(model::describe(shape)));
  EXPECT_EQ(text_of(files.tokenizer.path()), byte_tokenizer(true));
  train::Model model(model::describe(shape), {});
  const TemporaryFolder written;
  save_model_folder(written.path(), model, byte_tokenizer(true));
  const Checkpoint stored = Checkpoint::open(written.path());
  EXPECT_EQ(stored.names(), weights.names());
  for (const std::string& name : stored.names())
    EXPECT_EQ(weights.tensor(name, stored.tensor(name).shape()).dtype(), DType::f32) << name;
}

}  // namespace
}  // namespace attend::learn
