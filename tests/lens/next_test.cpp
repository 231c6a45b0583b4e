// What a model that writes expects next: layer by layer, token by token, and with parts of another pass.
#include <attend/checkpoint.h>
#include <attend/lens_heads.h>
#include <attend/lens_next.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lens/golden_reading.h"

namespace attend {
namespace {

class Next : public testing::Test {
 protected:
  GoldenModel golden_{"gpt2"};
  TextModel model_ = golden_.load();
  Reading reading_{model_, "the banks of the river , money"};
  std::int64_t last_ = reading_.size() - 1;

  Tensor tensor(const std::string& name) const {
    const Checkpoint checkpoint = Checkpoint::open(golden_.weights());
    return copy_of(checkpoint.tensor(checkpoint.contains(name) ? name : "transformer." + name), DType::f64);
  }

  // The logits of what leaves a layer, written out in float64.
  std::vector<double> logits_after(std::int64_t layer, std::int64_t place) const {
    const Tensor x = copy_of(reading_.hidden(layer).select(0, place), DType::f64);
    const std::size_t e = x.values<double>().size();
    std::vector<double> normed(x.values<double>().begin(), x.values<double>().end());
    if (layer < reading_.layers()) {
      const Tensor gamma = tensor("ln_f.weight"), beta = tensor("ln_f.bias");
      const double mean = std::accumulate(normed.begin(), normed.end(), 0.0) / static_cast<double>(e);
      double variance = 0;
      for (const double value : normed) variance += (value - mean) * (value - mean) / static_cast<double>(e);
      const double epsilon = model_.transformer().description().final_norm->epsilon;
      for (std::size_t i = 0; i < e; ++i) {
        normed[i] = (normed[i] - mean) / std::sqrt(variance + epsilon) * gamma.values<double>()[i] +
                    beta.values<double>()[i];
      }
    }
    const Tensor words = tensor("wte.weight");
    std::vector<double> logits(static_cast<std::size_t>(words.size(0)));
    for (std::size_t token = 0; token < logits.size(); ++token) {
      logits[token] =
          std::inner_product(normed.begin(), normed.end(),
                             words.values<double>().begin() + static_cast<std::ptrdiff_t>(token * e), 0.0);
    }
    return logits;
  }

  double logit(const Tensor& embeddings, std::int32_t token) const {
    TokenBatch batch;
    batch.add(reading_.tokens().ids, reading_.tokens().type_ids);
    const Tensor out = model_.transformer().forward(batch, LayerObserver(), {},
                                                    {.start = PassStart{.layer = 0, .hidden = embeddings}});
    const Tensor row = copy_of(out.view().select(0, last_), DType::f64);
    return model_.token_head()->logits(row.values<double>())[static_cast<std::size_t>(token)];
  }
};

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST_F(Next, TheLogitLensIsTheNormAndTheOutputLayerOfEachLayer) {
  const LogitLens lens = logit_lens(reading_, last_, 3);
  ASSERT_EQ(std::ssize(lens.layers), reading_.layers() + 1);
  for (const LayerGuesses& layer : lens.layers) {
    const std::vector<double> logits = logits_after(layer.layer, last_);
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const double value : logits) sum += std::exp(value - largest);
    ASSERT_EQ(layer.guesses.size(), 3u);
    EXPECT_EQ(logits[static_cast<std::size_t>(layer.guesses[0].token)], largest) << layer.layer;
    for (const TokenGuess& guess : layer.guesses)
      EXPECT_NEAR(guess.probability, std::exp(logits[static_cast<std::size_t>(guess.token)] - largest) / sum,
                  1e-6);
    const double watched = logits[static_cast<std::size_t>(lens.watched)];
    EXPECT_NEAR(layer.probability, std::exp(watched - largest) / sum, 1e-6);
    EXPECT_EQ(layer.rank, std::count_if(logits.begin(), logits.end(), [&](double l) { return l > watched; }));
  }
  const std::vector<TokenGuess> final = guess_tokens(reading_, last_, 3);
  EXPECT_EQ(lens.watched, final[0].token);
  EXPECT_EQ(lens.layers.back().rank, 0);
  EXPECT_NEAR(lens.layers.back().probability, final[0].probability, 1e-12);
  EXPECT_EQ(logit_lens(reading_, 0, 1, 5).watched, 5);
}

TEST_F(Next, TheGradientTimesTheEmbeddingIsTheSlopeOfTheLogit) {
  const std::int32_t token = guess_tokens(reading_, last_, 1)[0].token;
  const TokenAttributions found = attribute_guess(reading_, last_, token, {.method = Attribution::gradient});
  ASSERT_EQ(found.tokens.size(), reading_.tokens().size());
  for (std::size_t t = 0; t < found.tokens.size(); ++t) {
    const auto scaled = [&](double factor) {
      Tensor embeddings = copy_of(reading_.hidden(0));
      const auto e = static_cast<std::size_t>(embeddings.size(1));
      for (std::size_t i = t * e; i < (t + 1) * e; ++i)
        embeddings.values<float>()[i] = static_cast<float>(embeddings.values<float>()[i] * factor);
      return logit(embeddings, token);
    };
    constexpr double kStep = 1e-2;
    const double slope = (scaled(1 + kStep) - scaled(1 - kStep)) / (2 * kStep);
    EXPECT_NEAR(found.tokens[t], slope, 1e-3 + 5e-3 * std::abs(slope)) << t;
  }
  EXPECT_NEAR(found.logit, logit(copy_of(reading_.hidden(0)), token), 1e-9);
}

TEST_F(Next, IntegratedGradientsAddUpToTheDifferenceOfTheLogits) {
  const std::int32_t token = guess_tokens(reading_, last_, 1)[0].token;
  const TokenAttributions fine = attribute_guess(reading_, last_, token, {.steps = 128});
  const double sum = std::accumulate(fine.tokens.begin(), fine.tokens.end(), 0.0);
  const double whole = fine.logit - fine.neutral_logit;
  EXPECT_NEAR(sum, whole, 0.01 * std::abs(whole));
  EXPECT_NEAR(fine.missing, std::abs(sum - whole) / std::abs(whole), 1e-12);
  EXPECT_LT(fine.missing, attribute_guess(reading_, last_, token, {.steps = 1}).missing);
  // A token that is the neutral one itself contributed nothing.
  const TokenAttributions same =
      attribute_guess(reading_, last_, token, {.steps = 4, .neutral_token = reading_.tokens().ids[4]});
  EXPECT_EQ(same.neutral_token, reading_.tokens().ids[4]);
  EXPECT_EQ(same.tokens[4], 0);
}

TEST_F(Next, APassContinuesFromAnyLayer) {
  TokenBatch batch;
  batch.add(reading_.tokens().ids, reading_.tokens().type_ids);
  const Tensor whole = model_.transformer().forward(batch);
  for (std::int64_t layer = 0; layer <= reading_.layers(); ++layer) {
    std::vector<std::int64_t> seen;
    const Tensor resumed = model_.transformer().forward(
        batch, [&](const LayerMoment& moment) { seen.push_back(moment.layer); }, {},
        {.start = PassStart{.layer = layer, .hidden = reading_.hidden(layer)}});
    EXPECT_TRUE(std::ranges::equal(resumed.values<float>(), whole.values<float>())) << layer;
    EXPECT_EQ(std::ssize(seen), reading_.layers() - layer + (layer == 0 ? 1 : 0));
  }
}

TEST_F(Next, AHeadTakesTheValuesItIsGiven) {
  TokenBatch batch;
  batch.add(reading_.tokens().ids, reading_.tokens().type_ids);
  Tensor own;
  const Tensor whole = model_.transformer().forward(batch, [&](const LayerMoment& moment) {
    if (moment.layer == 1) own = copy_of(moment.attended.select(1, 1));
  });
  const auto with = [&](ConstTensorView values) {
    return model_.transformer().forward(batch, LayerObserver(), {},
                                        {.patches = {{.layer = 1, .head = 2, .values = values}}});
  };
  EXPECT_TRUE(std::ranges::equal(with(own).values<float>(), whole.values<float>()));
  const Tensor none(DType::f32, own.shape());
  const Tensor without =
      model_.transformer().forward(batch, LayerObserver(), {}, {.heads = {{.layer = 1, .head = 2}}});
  EXPECT_TRUE(std::ranges::equal(with(none).values<float>(), without.values<float>()));
  EXPECT_FALSE(std::ranges::equal(without.values<float>(), whole.values<float>()));
}

TEST_F(Next, PatchingBringsTheAnswerBackWhereTheTextsDiffer) {
  const Reading changed(model_, "the banks of the money , money");
  const std::int64_t different = 6;  // [CLS] the bank ##s of the river
  const PatchOptions options{.answer = 5, .other = 9};
  const PatchedAnswers found = patch_answers(reading_, changed, options);
  const auto state = [&](std::int64_t layer, std::int64_t token) {
    return found.states.values<double>()[static_cast<std::size_t>(layer * reading_.size() + token)];
  };
  for (std::int64_t token = 0; token < reading_.size(); ++token) {
    EXPECT_NEAR(state(0, token), token == different ? 1 : 0, 1e-6) << token;
    EXPECT_NEAR(state(reading_.layers(), token), token == last_ ? 1 : 0, 1e-6) << token;
    if (token < different) {
      EXPECT_EQ(state(1, token), 0) << "no token before the difference can see it";
    }
  }
  const auto difference = [&](const Tensor& out) {
    const Tensor row = copy_of(out.view().select(0, last_), DType::f64);
    const std::vector<double> logits = model_.token_head()->logits(row.values<double>());
    return logits[5] - logits[9];
  };
  TokenBatch clean, batch;
  clean.add(reading_.tokens().ids, reading_.tokens().type_ids);
  batch.add(changed.tokens().ids, changed.tokens().type_ids);
  std::vector<Tensor> attended;
  EXPECT_NEAR(found.clean,
              difference(model_.transformer().forward(clean,
                                                      [&](const LayerMoment& moment) {
                                                        if (moment.layer > 0)
                                                          attended.push_back(copy_of(moment.attended));
                                                      })),
              1e-9);
  EXPECT_NEAR(found.changed, difference(model_.transformer().forward(batch)), 1e-9);
  for (std::int64_t layer = 1; layer <= reading_.layers(); ++layer) {
    for (std::int64_t head = 1; head <= reading_.heads(); ++head) {
      const Tensor& values = attended[static_cast<std::size_t>(layer) - 1];
      const Tensor out = model_.transformer().forward(
          batch, LayerObserver(), {},
          {.patches = {{.layer = layer, .head = head, .values = values.view().select(1, head - 1)}}});
      const double share = (difference(out) - found.changed) / (found.clean - found.changed);
      EXPECT_NEAR(
          found.heads.values<double>()[static_cast<std::size_t>((layer - 1) * reading_.heads() + head - 1)],
          share, 1e-9);
    }
  }
  PatchOptions small = options;
  small.batch_tokens = 1;
  const PatchedAnswers one_by_one = patch_answers(reading_, changed, small);
  EXPECT_TRUE(std::ranges::equal(one_by_one.states.values<double>(), found.states.values<double>()));
  EXPECT_TRUE(std::ranges::equal(one_by_one.heads.values<double>(), found.heads.values<double>()));
}

TEST_F(Next, InductionAndDuplicateLookBackAtTheSameToken) {
  // [CLS] the river of the river of the [SEP]: tokens 4 to 7 came before.
  const Reading repeated(model_, "the river of the river of the");
  const std::vector<HeadProfile> profiles = profile_heads(repeated);
  for (const HeadProfile& profile : profiles) {
    EXPECT_EQ(profile.repeated, 4);
    const Reading::Layer& layer = repeated.layer(profile.layer);
    const Tensor weights = attention_rows(layer.q, layer.k, layer.options, Stage::weights,
                                          {.heads = {profile.head - 1}}, layer.state);
    const auto weight = [&](std::int64_t row, std::int64_t key) {
      return static_cast<double>(
          weights.values<float>()[static_cast<std::size_t>(row * repeated.size() + key)]);
    };
    EXPECT_NEAR(profile.duplicate,
                (weight(4, 1) + weight(5, 2) + weight(6, 3) + weight(7, 1) + weight(7, 4)) / 4, 1e-6);
    EXPECT_NEAR(profile.induction,
                (weight(4, 2) + weight(5, 3) + weight(6, 4) + weight(7, 2) + weight(7, 5)) / 4, 1e-6);
  }
  EXPECT_EQ(habit_of({.first = 0.6}), "first token");
  EXPECT_EQ(habit_of({.induction = 0.6}), "induction");
  EXPECT_EQ(habit_of({.duplicate = 0.6}), "duplicate");
  EXPECT_EQ(habit_of({.first = 0.6, .separator = 0.6}), "separator");
}

TEST_F(Next, WhatCannotBeAskedIsRefused) {
  EXPECT_NE(refusal_of([&] { logit_lens(reading_, 99, 1); }).find("place is 99"), std::string::npos);
  EXPECT_NE(
      refusal_of([&] { logit_lens(reading_, 0, 1, 1 << 30); }).find("token is 1073741824, expected 0 to"),
      std::string::npos);
  EXPECT_NE(refusal_of([&] { attribute_guess(reading_, 0, -1); }).find("token is -1"), std::string::npos);
  EXPECT_NE(refusal_of([&] { attribute_guess(reading_, 0, 1, {.steps = 0}); }).find("steps is 0"),
            std::string::npos);
  const Reading shorter(model_, "the river");
  EXPECT_NE(refusal_of([&] { patch_answers(reading_, shorter); }).find("both need the same number"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] { patch_answers(reading_, reading_); }).find("the same answer"),
            std::string::npos);
  TokenBatch batch;
  batch.add(reading_.tokens().ids);
  const Tensor wrong(DType::f32, {1, 1});
  const auto edited = [&](const PassEdits& edits) {
    return refusal_of([&] { model_.transformer().forward(batch, LayerObserver(), {}, edits); });
  };
  EXPECT_NE(edited({.start = PassStart{.layer = 0, .hidden = wrong}}).find("edits.start.hidden"),
            std::string::npos);
  EXPECT_NE(
      edited({.start = PassStart{.layer = 9, .hidden = reading_.hidden(0)}}).find("edits.start.layer is 9"),
      std::string::npos);
  EXPECT_NE(edited({.patches = {{.layer = 1, .head = 1, .values = wrong}}}).find("edits.patches[0].values"),
            std::string::npos);
  EXPECT_NE(edited({.patches = {{.layer = 1, .head = 9, .values = wrong}}}).find("edits.patches[0].head"),
            std::string::npos);
}

}  // namespace
}  // namespace attend
