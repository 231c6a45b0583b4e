// "it": queries and keys fitted on a handful of sentences until "it" finds what it stands for.
#pragma once

#include <attend/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "train/optimiser.h"

namespace attend::learn {

struct PronounSentence {
  std::vector<std::string> tokens;
  std::int64_t pronoun = 0, meant = 0;  // places
};

// Made-up sentences to learn from; and the textbooks' own, which is never learned from.
std::vector<PronounSentence> pronoun_sentences();
PronounSentence textbook_sentence();

// What is known about words before anything is learned: (tokens, 7), f64. Is it a noun, one that lives, a
// place, a verb, a state, a small word, a pronoun?
Tensor word_features(const std::vector<std::string>& tokens);

// One head over such vectors, x Wq and x Wk of four dimensions each, scaled by 1/sqrt(4). float64.
class PronounFit {
 public:
  // The mean loss at which it counts as learned: a weight of 0.8 on what is meant.
  static constexpr double kLearned = 0.22;

  explicit PronounFit(std::uint64_t seed);

  // A step of AdamW over all sentences. Returns the mean of -log(the weight on what is meant) before it.
  double step(const train::AdamWOptions& options, double rate);
  std::int64_t steps() const noexcept { return steps_; }

  // What the pronoun puts on what is meant, in the textbooks' sentence.
  double weight();

  ConstTensorView wq() { return parameters_.value(wq_); }  // (7, 4)
  ConstTensorView wk() { return parameters_.value(wk_); }

 private:
  // The weights of the pronoun's row; with `gradient` that of -log(weight on what is meant) is added.
  std::vector<double> look(const PronounSentence& sentence, bool gradient);

  train::Parameters parameters_;
  int wq_, wk_;
  std::int64_t steps_ = 0;
};

}  // namespace attend::learn
