// Passes that another program recorded: what they answer equals what the model's own reading answers, and
// files made to harm are refused.
#include <attend/checkpoint.h>
#include <attend/lens_change.h>
#include <attend/lens_heads.h>
#include <attend/lens_next.h>
#include <attend/lens_recording.h>
#include <attend/lens_tiles.h>
#include <attend/save.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>

#include "lens/golden_reading.h"
#include "support/file_error.h"
#include "support/refuses.h"

namespace attend {
namespace {

constexpr const char* kRecordedText = "the banks of the river , money";

// What another program would have written down of this pass.
Recording recording_of(const Reading& reading) {
  Recording recording{.model = "somebody/else", .family = "unheard-of", .text = reading.text()};
  for (std::int64_t t = 0; t < reading.size(); ++t) {
    const auto place = static_cast<std::size_t>(t);
    recording.tokens.push_back({.text = std::string(reading.token_name(t)),
                                .id = reading.tokens().ids[place],
                                .place = reading.tokens().offsets[place],
                                .special = reading.tokens().special[place] != 0});
  }
  for (std::int64_t number = 1; number <= reading.layers(); ++number) {
    const Reading::Layer& layer = reading.layer(number);
    RecordedLayer recorded{.name = "layer " + std::to_string(number),
                           .q = copy_of(layer.q),
                           .k = copy_of(layer.k),
                           .v = copy_of(layer.v)};
    recorded.scale = layer.options.scale;
    recorded.causal = layer.options.causal;
    recorded.window = layer.options.window;
    recorded.softcap = layer.options.softcap;
    recorded.sinks = layer.options.sinks;
    recorded.alibi_slopes = layer.options.alibi_slopes;
    if (layer.options.bias.given()) recorded.bias = copy_of(layer.options.bias.select(0, 0));
    recording.layers.push_back(std::move(recorded));
  }
  return recording;
}

void expect_same(ConstTensorView a, ConstTensorView b, double tolerance) {
  const Tensor first = copy_of(a, DType::f64), second = copy_of(b, DType::f64);
  ASSERT_EQ(first.shape(), second.shape());
  for (std::size_t i = 0; i < first.values<double>().size(); ++i)
    ASSERT_NEAR(first.values<double>()[i], second.values<double>()[i], tolerance) << i;
}

class Recorded : public testing::TestWithParam<const char*> {
 protected:
  GoldenModel golden_{GetParam()};
  TextModel model_ = golden_.load();
  Reading own_{model_, kRecordedText};
  TemporaryFolder folder_;
};

TEST_P(Recorded, AnswersWhatTheModelsOwnReadingAnswers) {
  save_recording(folder_ / "run.attn", recording_of(own_));
  const Reading recorded(load_recording(folder_ / "run.attn"));
  EXPECT_FALSE(recorded.has_model());
  EXPECT_EQ(recorded.model_name(), "somebody/else");
  EXPECT_EQ(recorded.family(), "unheard-of");
  EXPECT_EQ(recorded.text(), kRecordedText);
  EXPECT_EQ(recorded.layers(), own_.layers());
  EXPECT_EQ(recorded.heads(), own_.heads());
  EXPECT_EQ(recorded.is_causal(), own_.is_causal());
  ASSERT_EQ(recorded.words().size(), own_.words().size());
  for (std::size_t w = 0; w < own_.words().size(); ++w) {
    EXPECT_EQ(recorded.words()[w].text, own_.words()[w].text);
    EXPECT_EQ(recorded.words()[w].last_token, own_.words()[w].last_token);
    EXPECT_EQ(recorded.words()[w].special, own_.words()[w].special);
  }
  for (const LensMethod method : {LensMethod::raw, LensMethod::rollout}) {
    expect_same(lens_map(recorded, {.method = method}, recorded.words()),
                lens_map(own_, {.method = method}, own_.words()), 1e-7);
  }
  const LensQuery head{.heads = {.layer = 2, .head = 1}};
  expect_same(lens_map(recorded, head, single_tokens(recorded)), lens_map(own_, head, single_tokens(own_)),
              1e-7);
  EXPECT_EQ(lens_row(recorded, {.method = LensMethod::flow}, recorded.words(), 2).size(),
            own_.words().size());
  const std::vector<HeadProfile> profiles = profile_heads(recorded, {}), expected = profile_heads(own_, {});
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    EXPECT_NEAR(profiles[i].previous, expected[i].previous, 1e-7);
    EXPECT_NEAR(profiles[i].duplicate, expected[i].duplicate, 1e-7);
    EXPECT_EQ(habit_of(profiles[i]), habit_of(expected[i]));
  }
}

TEST_P(Recorded, WeightsAloneGiveTheSameMaps) {
  Recording recording = recording_of(own_);
  for (std::int64_t number = 1; number <= own_.layers(); ++number) {
    const Reading::Layer& layer = own_.layer(number);
    RecordedLayer weights;
    const Tensor rows =
        attention_rows(layer.q, layer.k, layer.options, Stage::weights, {}, layer.state);  // (1, H, n, n)
    weights.weights = copy_of(rows.view().select(0, 0));
    recording.layers[static_cast<std::size_t>(number) - 1] = std::move(weights);
  }
  save_recording(folder_ / "run.attn", recording);
  const Reading recorded(load_recording(folder_ / "run.attn"));
  for (const LensMethod method : {LensMethod::raw, LensMethod::rollout}) {
    expect_same(lens_map(recorded, {.method = method}, single_tokens(recorded)),
                lens_map(own_, {.method = method}, single_tokens(own_)), 2e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Recorded, testing::Values("bert", "mpnet", "gpt2"));

class RecordedParts : public testing::Test {
 protected:
  GoldenModel golden_{"gpt2"};
  TextModel model_ = golden_.load();
  Reading own_{model_, kRecordedText};
  TemporaryFolder folder_;

  Reading reading() const { return Reading(recording_of(own_)); }
};

TEST_F(RecordedParts, RefuseWhatNeedsTheModel) {
  const Reading recorded = reading();
  const std::string why = "without the weights and the vocabulary of its model, somebody/else";
  EXPECT_REFUSES(lens_map(recorded, {.method = LensMethod::norm}, recorded.words()), why);
  EXPECT_REFUSES(guess_tokens(recorded, 0, 1), why);
  EXPECT_REFUSES(logit_lens(recorded, 0, 1), why);
  EXPECT_REFUSES(attribute_guess(recorded, 0, 1), why);
  EXPECT_REFUSES(patch_answers(recorded, recorded), why);
  EXPECT_REFUSES(change_by(recorded, {}), why);
  EXPECT_REFUSES(Reading(recorded, PassEdits{}), why);
  EXPECT_REFUSES(static_word_vector(recorded, 1), why);
  EXPECT_REFUSES(recorded.hidden(0), "did not keep");
  EXPECT_REFUSES(recorded.hidden(1), "did not keep");
  EXPECT_REFUSES(text_vector(recorded), "did not keep");
}

TEST_F(RecordedParts, WithoutATextEachTokenIsAWord) {
  Recording recording = recording_of(own_);
  recording.text.clear();
  for (RecordedToken& token : recording.tokens) token.place = {};
  const Reading recorded(std::move(recording));
  ASSERT_EQ(static_cast<std::int64_t>(recorded.words().size()), recorded.size());
  EXPECT_EQ(recorded.words()[2].text, own_.token_name(2));
  EXPECT_EQ(recorded.words()[0].special, own_.words()[0].special);
}

TEST_F(RecordedParts, MasksWindowsAndSinksTakePart) {
  Recording recording = recording_of(own_);
  const std::int64_t n = own_.size();
  RecordedLayer& first = recording.layers[0];
  first.causal = false;
  first.mask = Tensor(DType::boolean, {1, n, n});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j)
      first.mask.values<bool>()[static_cast<std::size_t>(i * n + j)] = true;
  recording.layers[1].window = {.left = 1, .right = 0};
  recording.layers[1].sinks.assign(static_cast<std::size_t>(own_.heads()), 0.5);
  save_recording(folder_ / "run.attn", recording);
  const Reading recorded(load_recording(folder_ / "run.attn"));
  const std::vector<Word> tokens = single_tokens(recorded);
  expect_same(lens_map(recorded, {.heads = {.layer = 1}}, tokens),
              lens_map(own_, {.heads = {.layer = 1}}, tokens), 1e-7);
  const Tensor window = lens_map(recorded, {.heads = {.layer = 2, .head = 1}}, tokens);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      EXPECT_EQ(window.values<double>()[static_cast<std::size_t>(i * n + j)] > 0, j == i || j == i - 1);
  EXPECT_LT(recorded.layer(2).state.sum.count(), 1000);
  EXPECT_FALSE(recorded.is_causal());
}

TEST_F(RecordedParts, SayWhereNumbersStopBeingFinite) {
  Recording recording = recording_of(own_);
  recording.layers[1].k.values<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const Reading recorded(std::move(recording));
  ASSERT_TRUE(recorded.not_finite());
  EXPECT_EQ(recorded.not_finite()->part, "keys");
  EXPECT_NE(sentence_of(recorded, *recorded.not_finite()).find(recorded.token_name(0)), std::string::npos);
}

TEST_F(RecordedParts, ThatDoNotFitAreRefused) {
  const std::pair<std::function<void(Recording&)>, const char*> faults[] = {
      {[](Recording& r) { r.tokens.clear(); }, "tokens: there are 0"},
      {[](Recording& r) { r.layers.clear(); }, "layers: there are 0"},
      {[](Recording& r) { r.tokens.pop_back(); }, "layer.1.q: has the shape"},
      {[](Recording& r) { r.tokens[1].text = "\xFF"; }, "token 1 is not UTF-8"},
      {[](Recording& r) {
         r.tokens[1].place = {3, 1000};
       },
       "places: token 1 stands at 3 to 1000"},
      {[](Recording& r) {
         r.tokens[1].place = {3, 1};
       },
       "places: token 1 stands at 3 to 1"},
      {[](Recording& r) { r.layers[0].q = Tensor(); }, "layer.1.q: expected queries, keys and values"},
      {[](Recording& r) { r.layers[0].k = Tensor(); }, "layer.1.k: has the shape"},
      {[](Recording& r) { r.layers[1].v = Tensor(); }, "layer.2.v: has the shape"},
      {[](Recording& r) { r.layers[0].k = copy_of(r.layers[0].k, DType::f64); },
       "layer.1.k: expected float32"},
      {[](Recording& r) { r.layers[0].sinks = {1}; }, "layer.1.sinks: has 1 numbers"},
      {[](Recording& r) { r.layers[0].alibi_slopes.assign(4, std::nan("")); }, "layer.1.alibi_slopes: "},
      {[](Recording& r) { r.layers[0].scale = std::numeric_limits<double>::infinity(); },
       "layer.1.scale: is inf"},
      {[](Recording& r) { r.layers[0].softcap = -1; }, "layer.1.softcap: is -1"},
      {[](Recording& r) { r.layers[0].window.left = -2; }, "layer.1.window: is -2 -1"},
      {[](Recording& r) {
         r.layers[0].mask = Tensor(DType::boolean, {1, 2, 2});
       },
       "layer.1.mask: has the shape"},
      {[](Recording& r) {
         r.layers[0].bias = Tensor(DType::boolean, {1, 2, 2});
       },
       "layer.1.bias: expected"},
      {[](Recording& r) {
         r.layers[0].weights = Tensor(DType::f32, {4, 2, 2});
       },
       "layer.1.q: expected queries"},
  };
  for (const auto& [spoil, sentence] : faults) {
    Recording recording = recording_of(own_);
    spoil(recording);
    EXPECT_REFUSES(save_recording(folder_ / "bad.attn", recording), sentence);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "bad.attn"));
    EXPECT_REFUSES(Reading(std::move(recording)), sentence);
  }
  Recording weights = recording_of(own_);
  weights.layers[0] = {};
  weights.layers[0].weights = Tensor(DType::f32, {own_.heads(), own_.size(), own_.size()});
  fill(weights.layers[0].weights, 1.5);
  EXPECT_REFUSES(save_recording(folder_ / "bad.attn", weights), "layer.1.weights: holds 1.5");
  fill(weights.layers[0].weights, 0.5);
  weights.layers[0].causal = true;
  EXPECT_REFUSES(save_recording(folder_ / "bad.attn", weights), "nothing else to apply");
}

// A file of a recording whose tensors and metadata a test may spoil before it is written.
struct RecordedFile {
  std::map<std::string, Tensor> tensors{};
  std::map<std::string, std::string> metadata{};

  explicit RecordedFile(const std::filesystem::path& file) {
    const Checkpoint checkpoint = Checkpoint::open(file);
    for (const std::string& name : checkpoint.names()) tensors[name] = copy_of(checkpoint.tensor(name));
    metadata = checkpoint.metadata();
  }
  void write(const std::filesystem::path& file) const {
    std::vector<NamedTensor> list;
    for (const auto& [name, tensor] : tensors) list.push_back({name, tensor});
    save_safetensors(file, list, metadata);
  }
};

TEST_F(RecordedParts, FilesMadeToHarmAreRefused) {
  const std::filesystem::path good = folder_ / "good.attn", bad = folder_ / "bad.attn";
  save_recording(good, recording_of(own_));
  using File = RecordedFile;
  struct Case {
    std::function<void(File&)> spoil;
    const char *where, *rule;
  };
  const auto set = [](const char* key, const char* value) {
    return [=](File& f) { f.metadata[key] = value; };
  };
  const auto numbers = [](const char* name, std::int64_t value) {
    return [=](File& f) { f.tensors[name].values<std::int64_t>()[0] = value; };
  };
  const Case cases[] = {
      {set("format", "pt"), "format", "this is not a recording"},
      {[](File& f) { f.metadata.clear(); }, "format", "this is not a recording"},
      {set("version", "2"), "version", "expected 1"},
      {set("layers", "0"), "layers", "expected a whole number from 1"},
      {set("layers", "1e3"), "layers", "expected a whole number from 1"},
      {set("layers", "99999999999999999999"), "layers", "expected a whole number from 1"},
      {set("layers", "1000000"), "layer.3.q", "is not there"},
      {set("layers", "1"), "layer.2.k", "is not a tensor that a recording has"},
      {set("layer.7.causal", "true"), "layer.7.causal", "is not metadata that a recording has"},
      {set("comment", "x"), "comment", "is not metadata that a recording has"},
      {set("layer.1.causal", "yes"), "layer.1.causal", "expected true or false"},
      {set("layer.1.scale", "much"), "layer.1.scale", "expected a number"},
      {set("layer.1.scale", "1e999"), "layer.1.scale", "expected a number"},
      {set("layer.1.scale", "nan"), "layer.1.scale", "expected a finite number"},
      {set("layer.1.softcap", ""), "layer.1.softcap", "expected a number"},
      {set("layer.1.window", "3"), "layer.1.window", "expected two whole numbers"},
      {set("layer.1.window", "3 -2"), "layer.1.window", "expected a whole number from -1"},
      {set("tokens", "x"), "token_ends", "expected"},
      {set("text", "short"), "places", "stands at"},
      {numbers("token_ends", -1), "token_ends", "token 0 ends at -1"},
      {numbers("token_ends", 1 << 20), "token_ends", "token 0 ends at 1048576"},
      {numbers("ids", -1), "ids", "token 0 is -1"},
      {numbers("ids", std::int64_t{1} << 40), "ids", "token 0 is 1099511627776"},
      {numbers("places", -1), "places", "token 0 stands at -1"},
      {numbers("places", std::int64_t{1} << 33), "places", "outside of the text"},
      {[](File& f) { f.tensors.erase("ids"); }, "ids", "is not there"},
      {[](File& f) { f.tensors.erase("token_ends"); }, "token_ends", "expected where each token ends"},
      {[](File& f) { f.tensors["special"] = Tensor(DType::boolean, {1}); }, "special", "not of one size"},
      {[](File& f) { f.tensors["ids"] = Tensor(DType::f32, {3}); }, "ids", "is f32, expected i64"},
      {[](File& f) { f.tensors.erase("layer.1.v"); }, "layer.1.v", "has the shape"},
      {[](File& f) { f.tensors["layer.1.v"] = Tensor(DType::f16, {3}); }, "layer.1.v",
       "is f16, expected f32"},
      {[](File& f) {
         f.tensors["layer.1.k"] = Tensor(DType::f32, {3, 1});
       },
       "layer.1.k", "has the shape (3, 1)"},
      {[](File& f) {
         f.tensors["layer.1.sinks"] = Tensor(DType::f64, {2, 2});
       },
       "layer.1.sinks", "expected one"},
      {[](File& f) { f.tensors["layer.1.extra"] = Tensor(DType::f32, {1}); }, "layer.1.extra",
       "is not a tensor"},
  };
  for (const Case& one : cases) {
    File file(good);
    one.spoil(file);
    file.write(bad);
    EXPECT_FILE_ERROR(load_recording(bad), one.where, one.rule);
  }
  RecordedFile file(good);  // a token that ends inside a character
  file.metadata["tokens"].replace(0, 2, "\xC3\xA9");
  file.tensors["token_ends"].values<std::int64_t>()[0] = 1;
  file.write(bad);
  EXPECT_FILE_ERROR(load_recording(bad), "tokens", "token 0 is not UTF-8");
}

TEST_F(RecordedParts, FilesThatWereCutAreRefused) {
  const std::filesystem::path good = folder_ / "good.attn";
  save_recording(good, recording_of(own_));
  std::ifstream in(good, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  const std::size_t step = std::max<std::size_t>(1, bytes.size() / 97);
  for (std::size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : step)
    EXPECT_THROW(load_recording(folder_.write("cut.attn", bytes.substr(0, size))), FileError) << size;
  EXPECT_THROW(load_recording(folder_.path()), FileError);
  EXPECT_THROW(load_recording(folder_ / "nothing.attn"), FileError);
}

}  // namespace
}  // namespace attend
