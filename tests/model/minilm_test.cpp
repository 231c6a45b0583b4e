// all-MiniLM-L6-v2, the default model, on 200 texts: every layer compared with transformers in float64
// (tools/golden/make_minilm.py; docs/parity.md has the exact figures), and the same bits in any batch.
#include <attend/checkpoint.h>
#include <attend/isa.h>
#include <attend/text_model.h>
#include <attend/threads.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/compare.h"
#include "support/emulated.h"
#include "support/sanitized.h"
#include "support/sketch.h"

namespace attend {
namespace {

constexpr const char* kModel = "sentence-transformers/all-MiniLM-L6-v2";
constexpr std::int64_t kMiniLmTexts = 200, kLayers = 7,
                       kStates = 8;  // embeddings, six layers; and the vector
constexpr bool kSlow = kSanitized || kEmulated;

class Golden {
 public:
  Golden() : file_(Checkpoint::open(folder() / "golden.safetensors")) {
    std::ifstream lines(folder() / "texts.txt", std::ios::binary);
    for (std::string line; std::getline(lines, line);) texts.push_back(line);
  }

  std::int64_t hash(std::int64_t text) const { return file_.tensor("hash").data<std::int64_t>()[text]; }
  std::int64_t tokens(std::int64_t text) const { return file_.tensor("tokens").data<std::int64_t>()[text]; }
  double sketch(std::int64_t text, std::int64_t state, std::size_t sign) const {
    return file_.tensor("sketch")
        .data<double>()[(text * kStates + state) * static_cast<std::int64_t>(kSketchSigns) +
                        static_cast<std::int64_t>(sign)];
  }
  // Of transformers in float32, summed over the state.
  double their_squared_error(std::int64_t text, std::int64_t state) const {
    return double{file_.tensor("squared_error").data<float>()[text * kStates + state]};
  }
  std::vector<double> vector(std::int64_t text) const {
    return values_of(file_.tensor("vector").select(0, text));
  }

  std::vector<std::string> texts;

 private:
  static std::filesystem::path folder() {
    return std::filesystem::path(ATTEND_GOLDEN_MODELS).parent_path() / "minilm";
  }
  Checkpoint file_;
};

std::int64_t hash_of(const std::vector<std::int32_t>& ids) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const std::int32_t id : ids) hash = (hash ^ static_cast<std::uint64_t>(id)) * 0x100000001B3U;
  return static_cast<std::int64_t>(hash);
}

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

// The model is 91 MB and not in the repository: where it is not on the machine, the reason is printed, and
// where gaps are not forgiven (tools/test.sh) that is a failure.
class MiniLm : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      find_model(kModel);
    } catch (const FileError& error) {
      if (std::getenv("ATTEND_NO_GAPS") != nullptr) FAIL() << error.what();
      GTEST_SKIP() << error.what();
    }
    model_ = std::make_unique<TextModel>(TextModel::load(kModel));
  }
  void TearDown() override {
    set_threads(0);
    set_isa("");
  }

  // What leaves every layer for these texts, as one batch: [text][layer] (tokens, E).
  std::vector<std::vector<Tensor>> states_of(const std::vector<std::int64_t>& numbers) const {
    TokenBatch batch;
    for (const std::int64_t number : numbers) {
      const Encoding encoding = model_->encode(golden_.texts[static_cast<std::size_t>(number)]);
      batch.add(encoding.ids, encoding.type_ids);
    }
    std::vector<std::vector<Tensor>> states(numbers.size());
    model_->transformer().forward(batch, [&](const LayerMoment& moment) {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        states[i].push_back(copy_of(moment.hidden.slice(0, batch.ends[i], batch.ends[i + 1])));
    });
    return states;
  }

  // What embed() makes of a text's last layer; the last test checks that it does.
  static Tensor vector_from(const Tensor& last) {
    Tensor vector(DType::f32, {1, last.size(1)});
    pool(last, std::vector<std::int64_t>{0, last.size(0)}, std::vector{Pooling::mean}, vector);
    normalize_rows(vector, vector);
    return vector;
  }

  Golden golden_;
  std::unique_ptr<TextModel> model_;
};

TEST_F(MiniLm, TokensAreThoseOfTransformers) {
  ASSERT_EQ(golden_.texts.size(), std::size_t{kMiniLmTexts});
  int cut = 0;
  for (std::int64_t text = 0; text < kMiniLmTexts; ++text) {
    const Encoding encoding = model_->encode(golden_.texts[static_cast<std::size_t>(text)]);
    EXPECT_EQ(static_cast<std::int64_t>(encoding.size()), golden_.tokens(text)) << "text " << text;
    EXPECT_EQ(hash_of(encoding.ids), golden_.hash(text)) << "text " << text;
    cut += encoding.dropped > 0 ? 1 : 0;
  }
  EXPECT_GE(cut, 20);
}

// Sums of squared errors as the sketches estimate them, next to those of transformers in float32.
class Errors {
 public:
  void add(const Golden& golden, std::int64_t text, std::int64_t state, ConstTensorView ours) {
    const Sketch sketch = sketch_of(text, ours);
    double squared = 0;
    for (std::size_t s = 0; s < kSketchSigns; ++s) {
      const double error = sketch[s] - golden.sketch(text, state, s);
      squared += error * error / kSketchSigns;
    }
    const double theirs = golden.their_squared_error(text, state);
    ours_ += squared;
    theirs_ += theirs;
    theirs_squared_ += theirs * theirs;
    worst_ = std::max(worst_, std::sqrt(squared / theirs));
  }
  double ratio() const { return std::sqrt(ours_ / theirs_); }
  double worst() const { return worst_; }

  // How far the sketches of few texts may be off: three standard deviations. The square of one sketch has a
  // variance of twice its mean's square; texts weigh by their errors.
  double allowance() const {
    return std::sqrt(1 + 3 * std::sqrt(2.0 / kSketchSigns * theirs_squared_) / theirs_);
  }

 private:
  double ours_ = 0, theirs_ = 0, theirs_squared_ = 0, worst_ = 0;
};

TEST_P(MiniLm, EveryLayerIsAsExactAsTransformers) {
  set_isa(GetParam());
  const bool all = GetParam() == available_isas().front() && !kSlow;
  std::vector<Errors> errors(std::size_t{kStates});
  for (std::int64_t text = 0; text < kMiniLmTexts; ++text) {
    // The others are there to show that each of them works.
    const bool taken = text % 5 == 0 && golden_.tokens(text) <= (kSlow ? 12 : 40);
    if (!taken && !all) continue;
    const std::vector<Tensor> states = std::move(states_of({text}).front());
    ASSERT_EQ(states.size(), std::size_t{kLayers});
    for (std::size_t layer = 0; layer < states.size(); ++layer)
      errors[layer].add(golden_, text, static_cast<std::int64_t>(layer), states[layer]);
    const Tensor vector = vector_from(states.back());
    errors.back().add(golden_, text, kLayers, vector);
    // The golden vectors are stored as f16, which turns them by 4e-8 in the cosine.
    EXPECT_GE(cosine(values_of(vector), golden_.vector(text)), 0.999999) << "text " << text;
  }
  for (std::size_t state = 0; state < errors.size(); ++state) {
    SCOPED_TRACE("state " + std::to_string(state));
    EXPECT_LE(errors[state].ratio(), all ? 1.5 : 1.5 * errors[state].allowance());
    // Eight signs estimate the error of one text, with a chi-square of eight degrees over eight. That is
    // above 35/8 once in 37,000 times, and there are 1,600 of them; so this much of the bound is the sketch's
    // own.
    EXPECT_LE(errors[state].worst(), 1.5 * std::sqrt(35.0 / 8));
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSet, MiniLm, testing::ValuesIn(available_isas()),
                         [](const auto& isa) { return isa.param; });

TEST_F(MiniLm, AloneInABatchInAnyOrderWithAnyThreadsTheSameBits) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t text = 0; text < kMiniLmTexts && numbers.size() < (kSlow ? 3U : 12U);
       text += kSlow ? 1 : 16) {
    if (!kSlow || golden_.tokens(text) <= 12) numbers.push_back(text);
  }
  set_threads(1);
  std::map<std::int64_t, std::vector<Tensor>> alone;
  for (const std::int64_t number : numbers) alone[number] = std::move(states_of({number}).front());

  for (const int count : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(count) + " threads");
    set_threads(count);
    std::reverse(numbers.begin(), numbers.end());
    const auto together = states_of(numbers);
    std::vector<std::string_view> texts;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::vector<Tensor>& expected = alone.at(numbers[i]);
      for (std::size_t layer = 0; layer < expected.size(); ++layer)
        EXPECT_TRUE(same_bits(together[i][layer], expected[layer]))
            << "text " << numbers[i] << ", layer " << layer;
      texts.push_back(golden_.texts[static_cast<std::size_t>(numbers[i])]);
    }
    const Tensor vectors = model_->embed(texts, {.batch_tokens = 300 * count});
    for (std::int64_t i = 0; i < vectors.size(0); ++i) {
      const std::int64_t number = numbers[static_cast<std::size_t>(i)];
      EXPECT_TRUE(same_bits(vectors.view().slice(0, i, i + 1), vector_from(alone.at(number).back())))
          << "text " << number;
    }
  }
}

}  // namespace
}  // namespace attend
