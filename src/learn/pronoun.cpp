#include "learn/pronoun.h"

#include <attend/attention_backward.h>
#include <attend/matmul.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>

#include "base/error.h"

namespace attend::learn {
namespace {

constexpr std::int64_t kFeatures = 7, kSize = 4;
enum Feature : std::size_t { noun, living, place, verb, state, small, pronoun };

const std::map<std::string, std::vector<Feature>>& dictionary() {
  static const std::map<std::string, std::vector<Feature>> words = [] {
    std::map<std::string, std::vector<Feature>> list;
    const auto add = [&](const char* names, const std::vector<Feature>& features) {
      std::istringstream stream(names);
      for (std::string name; stream >> name;) list[name] = features;
    };
    add("animal dog cat horse bird child", {noun, living});
    add("street road house wall bridge river", {noun, place});
    add("cross left jump sat swim reached", {verb});
    add("tired hungry old cold afraid brave", {state});
    add("The the didn't because was too on while although so", {small});
    add("it", {pronoun});
    return list;
  }();
  return words;
}

PronounSentence sentence_of(const std::string& text, const std::string& meant) {
  PronounSentence sentence;
  std::istringstream stream(text);
  for (std::string token; stream >> token;) sentence.tokens.push_back(token);
  const auto place = [&](const std::string& token) {
    return std::find(sentence.tokens.begin(), sentence.tokens.end(), token) - sentence.tokens.begin();
  };
  sentence.pronoun = place("it");
  sentence.meant = place(meant);
  return sentence;
}

Tensor product(ConstTensorView a, ConstTensorView b) {
  Tensor out(DType::f64, {a.size(0), b.size(1)});
  matmul(a, b, out);
  return out;
}

Tensor identity(std::int64_t size) {
  Tensor result(DType::f64, {size, size});
  for (std::int64_t i = 0; i < size; ++i) result.values<double>()[static_cast<std::size_t>(i * size + i)] = 1;
  return result;
}

// (n, d) as attention() takes it: one sequence, one head.
ConstTensorView one_head(const Tensor& rows) { return rows.view().with_axis(0).with_axis(0); }
TensorView one_head(Tensor& rows) { return rows.view().with_axis(0).with_axis(0); }

void add(const Tensor& from, TensorView to) {
  const std::span<const double> values = from.values<double>();
  double* const out = to.data<double>();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] += values[i];
}

}  // namespace

std::vector<PronounSentence> pronoun_sentences() {
  return {sentence_of("The dog left the road because it was tired", "dog"),
          sentence_of("The cat sat on the wall while it was hungry", "cat"),
          sentence_of("the house was cold so the horse left because it was old", "horse"),
          sentence_of("The bird didn't cross the river because it was afraid", "bird"),
          sentence_of("on the bridge the child sat although it was cold", "child"),
          sentence_of("The dog reached the house because it was brave", "dog")};
}

PronounSentence textbook_sentence() {
  return sentence_of("The animal didn't cross the street because it was too tired", "animal");
}

Tensor word_features(const std::vector<std::string>& tokens) {
  Tensor x(DType::f64, {static_cast<std::int64_t>(tokens.size()), kFeatures});
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto word = dictionary().find(tokens[i]);
    if (word == dictionary().end()) refuse("it", "the word \"", tokens[i], "\" is not in the dictionary");
    for (const Feature feature : word->second) x.values<double>()[i * kFeatures + feature] = 1;
  }
  return x;
}

PronounFit::PronounFit(std::uint64_t seed)
    : wq_(parameters_.add("wq", {kFeatures, kSize}, 0, 0.5)),
      wk_(parameters_.add("wk", {kFeatures, kSize}, 0, 0.5)) {
  parameters_.allocate(DType::f64);
  parameters_.initialise(seed);
}

// Values are unit vectors, so what attention gives are its weights, and their gradient is that of its output.
std::vector<double> PronounFit::look(const PronounSentence& sentence, bool gradient) {
  const Tensor x = word_features(sentence.tokens);
  const std::int64_t n = x.size(0);
  const Tensor q = product(x, wq()), k = product(x, wk()), units = identity(n);
  Tensor weights(DType::f64, {n, n});
  RowState state(one_head(q));
  const AttentionOptions options{};  // 1/sqrt(d)
  attention(one_head(q), one_head(k), one_head(units), options, one_head(weights), state);
  const auto row = weights.values<double>().subspan(static_cast<std::size_t>(sentence.pronoun * n),
                                                    static_cast<std::size_t>(n));
  if (gradient) {
    const auto meant = static_cast<std::size_t>(sentence.meant);
    Tensor d_weights(DType::f64, {n, n});
    d_weights.values<double>()[static_cast<std::size_t>(sentence.pronoun * n) + meant] = -1 / row[meant];
    Tensor d_q(DType::f64, q.shape()), d_k(DType::f64, k.shape());
    attention_backward(one_head(q), one_head(k), one_head(units), options, one_head(weights), state,
                       one_head(d_weights), {.q = one_head(d_q), .k = one_head(d_k)});
    add(product(x.view().transposed(0, 1), d_q), parameters_.gradient(wq_));
    add(product(x.view().transposed(0, 1), d_k), parameters_.gradient(wk_));
  }
  return {row.begin(), row.end()};
}

double PronounFit::step(const train::AdamWOptions& options, double rate) {
  const std::vector<PronounSentence> sentences = pronoun_sentences();
  parameters_.clear_gradients();
  double loss = 0;
  for (const PronounSentence& sentence : sentences)
    loss -= std::log(look(sentence, true)[static_cast<std::size_t>(sentence.meant)]);
  const double share = 1 / static_cast<double>(sentences.size());
  double* const gradients = parameters_.gradients().data<double>();
  for (std::int64_t i = 0; i < parameters_.gradients().count(); ++i) gradients[i] *= share;
  train::adamw_step(parameters_, options, rate, ++steps_, train::gradient_norm(parameters_));
  return loss * share;
}

double PronounFit::weight() {
  const PronounSentence sentence = textbook_sentence();
  return look(sentence, false)[static_cast<std::size_t>(sentence.meant)];
}

}  // namespace attend::learn
