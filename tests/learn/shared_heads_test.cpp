// A model whose heads share keys and values, and see a window, is the same as one that has a copy of them for
// each head: for the lens, its methods, edits and gradients, and when it writes.
#include <attend/generation.h>
#include <attend/lens.h>
#include <attend/lens_change.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "learn/model_folder.h"
#include "learn/task.h"
#include "page/carried.h"
#include "support/compare.h"
#include "support/temporary_folder.h"

namespace attend::learn {
namespace {

constexpr std::int64_t kHeads = 4, kKeyHeads = 2, kSize = 6, kHidden = 16;
constexpr const char* kText = "the bank of the river";

ModelDescription small_decoder(std::int64_t key_heads) {
  ModelDescription description = model::describe({.vocabulary = 256,
                                                  .length = 40,
                                                  .layers = 2,
                                                  .hidden = kHidden,
                                                  .heads = kHeads,
                                                  .inner = 24,
                                                  .positions = PositionKind::rotary});
  for (LayerDescription& layer : description.layers) {
    layer.attention.key_heads = key_heads;
    layer.attention.head_size = kSize;
    layer.attention.window.left = 5;
  }
  return description;
}

// The product that makes queries, keys and values, with a copy of each key and value for every head.
void copy_for_every_head(ConstTensorView shared, TensorView own) {
  const int axis = shared.rank() - 1;
  const auto part = [&](auto view, std::int64_t first) { return view.slice(axis, first, first + kSize); };
  const std::int64_t q = kHeads * kSize, k = kKeyHeads * kSize;
  for (std::int64_t head = 0; head < kHeads; ++head) {
    const std::int64_t key_head = head * kKeyHeads / kHeads;
    copy(part(shared, head * kSize), part(own, head * kSize));
    copy(part(shared, q + key_head * kSize), part(own, q + head * kSize));
    copy(part(shared, q + k + key_head * kSize), part(own, 2 * q + head * kSize));
  }
}

std::vector<float> floats_of(const std::string& base64) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : base64) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(digit));
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

class SharedHeads : public testing::Test {
 protected:
  SharedHeads() {
    train::Model shared(small_decoder(kKeyHeads), {}), own(small_decoder(kHeads), {});
    train::Parameters &from = shared.parameters(), &to = own.parameters();
    from.initialise(3);
    for (int i = 0; i < from.count(); ++i) {
      const TensorView value = from.value(i);
      for (std::int64_t j = 0; j < value.count(); ++j) {
        const auto number = static_cast<std::uint64_t>(1000 * i + j);
        value.data<float>()[j] += static_cast<float>(0.1 * normal_at(4, number));
      }
      const bool projected = from[i].name.find(".qkv.") != std::string::npos;
      projected ? copy_for_every_head(value, to.value(i)) : copy(value, to.value(i));
    }
    save_model_folder(shared_folder_.path(), shared, byte_tokenizer());
    save_model_folder(own_folder_.path(), own, byte_tokenizer());
  }
  TextModel shared() const { return TextModel::load(shared_folder_.path().string()); }
  TextModel own() const { return TextModel::load(own_folder_.path().string()); }

  TemporaryFolder shared_folder_, own_folder_;
};

TEST_F(SharedHeads, AreReadAsTheyWereWritten) {
  const TextModel model = shared();
  const AttentionDescription& attention = model.transformer().description().layer(2).attention;
  EXPECT_EQ(attention.key_heads, kKeyHeads);
  EXPECT_EQ(attention.head_size, kSize);
  EXPECT_EQ(attention.window.left, 5);
}

TEST_F(SharedHeads, LookTheSameThroughTheLens) {
  const Reading few(shared(), kText), many(own(), kText);
  ASSERT_EQ(few.layer(1).k.size(1), kKeyHeads);
  const std::vector<Word> units = single_tokens(few);
  const PassGradients few_gradients = gradients_towards_token(few, few.size() - 1, 'x'),
                      many_gradients = gradients_towards_token(many, many.size() - 1, 'x');
  for (const LensMethod method : {LensMethod::raw, LensMethod::norm, LensMethod::rollout, LensMethod::grad}) {
    SCOPED_TRACE(name_of(method));
    const auto map = [&](const Reading& reading, const PassGradients& gradients, const HeadChoice& heads) {
      return lens_map(reading, {.method = method, .heads = heads, .gradients = &gradients}, units);
    };
    EXPECT_LT(max_abs_difference(map(few, few_gradients, {}), map(many, many_gradients, {})), 1e-5);
    if (method == LensMethod::rollout) continue;
    for (std::int64_t head = 1; head <= kHeads; ++head) {
      const HeadChoice one{.layer = 2, .head = head};
      EXPECT_LT(max_abs_difference(map(few, few_gradients, one), map(many, many_gradients, one)), 1e-5)
          << head;
    }
  }
  // A window of five keys to the left: what is further away has no weight.
  const Tensor raw = lens_map(few, {.heads = {.layer = 1, .head = 1}}, units);
  const std::span<const double> weights = raw.values<double>();
  const auto n = static_cast<std::size_t>(few.size());
  EXPECT_EQ(weights[10 * n + 4], 0);
  EXPECT_GT(weights[10 * n + 5], 0);
}

TEST_F(SharedHeads, ChangeTheSameByEdits) {
  const Reading few(shared(), kText), many(own(), kText);
  const PassEdits edits{.heads = {{.layer = 1, .head = 3, .scale = 0.5}},
                        .edges = {{.layer = 2, .head = 4, .query = 9, .key = 7}, {.query = 12, .key = 10}}};
  const Reading few_edited(few, edits), many_edited(many, edits);
  EXPECT_LT(max_abs_difference(few_edited.hidden(2), many_edited.hidden(2)), 1e-5);
  EXPECT_GT(max_abs_difference(few_edited.hidden(2), few.hidden(2)), 1e-3);
}

// Its page carries keys and values for each head, so that the browser need not know that they are shared.
TEST_F(SharedHeads, AreCarriedForEveryHead) {
  const Reading few(shared(), kText), many(own(), kText);
  const std::vector<float> found = floats_of(page::carried_layer(few, 2)),
                           expected = floats_of(page::carried_layer(many, 2));
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_GT(found.size(), static_cast<std::size_t>(3 * few.size() * kHeads * kSize));
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST_F(SharedHeads, WriteTheSame) {
  Generator few(shared()), many(own());
  const GenerateOptions greedy{.max_tokens = 15, .sampling = {.temperature = 0}};
  EXPECT_EQ(few.generate(kText, greedy).text, many.generate(kText, greedy).text);
}

}  // namespace
}  // namespace attend::learn
