#include "steps/examples.h"

#include <initializer_list>

#include "base/random.h"

namespace attend::steps {
namespace {

Tensor matrix(std::int64_t columns, std::initializer_list<double> values) {
  return Tensor::from<double>({static_cast<std::int64_t>(values.size()) / columns, columns}, values);
}

Tensor identity(std::int64_t size, double factor) {
  Tensor result(DType::f64, {size, size});
  for (std::int64_t i = 0; i < size; ++i)
    result.values<double>()[static_cast<std::size_t>(i * size + i)] = factor;
  return result;
}

Tensor random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Tensor result(DType::f64, {rows, columns});
  std::uint64_t place = 0;
  for (double& value : result.values<double>()) value = normal_at(seed, place++);
  return result;
}

Lesson lesson_of(const char* title, std::vector<std::string> tokens) {
  Lesson lesson;
  lesson.title = title;
  lesson.tokens = tokens;
  lesson.key_tokens = std::move(tokens);
  return lesson;
}

Lesson love() {
  Lesson lesson =
      lesson_of("softmax(X Xᵀ) X: self-attention without parameters", {"I", "love", "deep", "learning"});
  lesson.x = matrix(3, {1, 0, 1,  //
                        1, 1, 0,  //
                        0, 1, 1,  //
                        0, 0, 1});
  return lesson;
}

Lesson it() {
  Lesson lesson = lesson_of(
      "softmax(Q Kᵀ) V: what “it” looks at in “The animal didn't cross the street because it was "
      "too tired”",
      {"The", "animal", "didn't", "cross", "street", "it", "was", "tired"});
  lesson.q = matrix(3, {0.1, 0.2, 0.3, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.0, 0.1, 0.2,  //
                        0.4, 0.3, 0.2, 0.6, 0.5, 0.4, 0.1, 0.1, 0.0, 0.7, 0.6, 0.5});
  lesson.k = matrix(3, {0.2, 0.1, 0.0, 0.6, 0.5, 0.4, 0.1, 0.2, 0.1, 0.2, 0.1, 0.3,  //
                        0.5, 0.4, 0.3, 0.7, 0.6, 0.5, 0.1, 0.0, 0.2, 0.9, 0.8, 0.7});
  lesson.v = matrix(3, {0.1, 0.2, 0.3, 0.7, 0.6, 0.5, 0.1, 0.1, 0.2, 0.0, 0.1, 0.1,  //
                        0.5, 0.4, 0.3, 0.6, 0.5, 0.4, 0.1, 0.1, 0.0, 0.8, 0.7, 0.6});
  lesson.scale = 1;
  return lesson;
}

// The result of `attend train it`, rounded to two digits.
Lesson it_trained() {
  Lesson lesson = lesson_of(
      "softmax(Q Kᵀ / √d) V, with queries and keys that were learned",
      {"The", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too", "tired"});
  lesson.note =
      "The seven numbers of a word: is it a noun, a living thing, a place, a verb, a state, a function word, "
      "a "
      "pronoun?";
  lesson.x = matrix(7, {0, 0, 0, 0, 0, 1, 0,  // The
                        1, 1, 0, 0, 0, 0, 0,  // animal
                        0, 0, 0, 0, 0, 1, 0,  // didn't
                        0, 0, 0, 1, 0, 0, 0,  // cross
                        0, 0, 0, 0, 0, 1, 0,  // the
                        1, 0, 1, 0, 0, 0, 0,  // street
                        0, 0, 0, 0, 0, 1, 0,  // because
                        0, 0, 0, 0, 0, 0, 1,  // it
                        0, 0, 0, 0, 0, 1, 0,  // was
                        0, 0, 0, 0, 0, 1, 0,  // too
                        0, 0, 0, 0, 1, 0, 0});
  lesson.wq = matrix(4, {-0.85, -0.84, 0.55,  -0.34,  //
                         0.85,  0.09,  -0.16, 0.09,   //
                         -0.14, -0.09, 0.41,  0.22,   //
                         -0.01, 0.55,  0.16,  -0.02,  //
                         0.09,  0.11,  -0.01, -0.40,  //
                         -0.41, 0.08,  -0.15, -0.38,  //
                         1.39,  1.18,  -0.32, -1.19});
  lesson.wk = matrix(4, {1.32,  0.73,  -0.56, -0.63,  //
                         1.11,  0.80,  0.02,  -0.91,  //
                         -1.10, -0.59, 1.04,  -0.58,  //
                         -1.01, -0.14, 1.87,  0.33,   //
                         -0.47, -0.35, 0.98,  0.75,   //
                         -0.78, -0.97, -0.38, 0.40,   //
                         -0.73, -1.02, 0.76,  0.31});
  lesson.wv = identity(7, 1);
  return lesson;
}

Lesson heads() {
  Lesson lesson =
      lesson_of("Two heads ask two questions of one sentence", {"The", "cat", "chased", "the", "mouse"});
  lesson.note = "The four numbers of a word: is it an article, a verb, the one who acts, the one acted on?";
  lesson.x = matrix(4, {1, 0, 0, 0,  //
                        0, 0, 1, 0,  //
                        0, 1, 0, 0,  //
                        1, 0, 0, 0,  //
                        0, 0, 0, 1});
  lesson.heads = 2;
  // Head 1: a verb asks for the one who acts, an article for any noun. Head 2: a verb asks for the one acted
  // on.
  lesson.wq = matrix(4, {0, 3, 0, 3,  //
                         4, 0, 4, 0,  //
                         0, 0, 0, 0,  //
                         0, 0, 0, 0});
  lesson.wk = matrix(4, {0, 0, 0, 0,  //
                         0, 0, 0, 0,  //
                         1, 1, 0, 1,  //
                         0, 1, 1, 1});
  // Head 1 passes on who acts and what is done; head 2 who is acted on and whether it has an article.
  lesson.wv = matrix(4, {0, 0, 0, 1,  //
                         0, 1, 0, 0,  //
                         1, 0, 0, 0,  //
                         0, 0, 1, 0});
  lesson.wo = matrix(4, {0, 0, 1, 0,  //
                         0, 1, 0, 0,  //
                         0, 0, 0, 1,  //
                         1, 0, 0, 0});
  return lesson;
}

Lesson causal() {
  Lesson lesson = love();
  lesson.title = "A causal mask: no token sees what comes after it";
  lesson.causal = true;
  return lesson;
}

Lesson cross() {
  Lesson lesson =
      lesson_of("Cross-attention: English queries, French keys and values", {"the", "black", "cat"});
  lesson.note = "The three numbers of a word: is it an article, a colour, an animal?";
  lesson.key_tokens = {"le", "chat", "noir"};
  lesson.x = matrix(3, {1.0, 0.0, 0.0,  //
                        0.0, 1.0, 0.1,  //
                        0.0, 0.1, 1.0});
  lesson.context = matrix(3, {1.0, 0.0, 0.1,  //
                              0.1, 0.0, 1.0,  //
                              0.0, 1.0, 0.1});
  lesson.wq = identity(3, 5);
  lesson.wk = identity(3, 1);
  lesson.wv = identity(3, 1);
  return lesson;
}

Lesson positions() {
  Lesson lesson = lesson_of("The order of words: sinusoidal positions added to X", {"dog", "bites", "man"});
  lesson.x = matrix(4, {1, 0, 1, 0,  //
                        0, 1, 0, 1,  //
                        1, 1, 0, 0});
  lesson.sinusoidal_positions = true;
  return lesson;
}

Lesson scale() {
  Lesson lesson = lesson_of("Why the scores are divided by √d", {"one", "two", "three", "four"});
  lesson.q = random_matrix(4, 16, 1);
  lesson.k = random_matrix(4, 16, 2);
  lesson.v = random_matrix(4, 16, 3);
  return lesson;
}

constexpr BuiltInExample kExamples[] = {
    {"love", "four tokens, softmax(X Xᵀ) X, no parameters",
     "“I”, “love” and “deep” look most at themselves: X Xᵀ measures how alike two vectors are. “learning” is "
     "part of “I” and of “deep”, and looks at these as much as at itself. To look elsewhere, attention needs "
     "learned queries and keys: try `--example it`.",
     love},
    {"it", "queries, keys and values for “The animal didn't cross the street because it was too tired”",
     "With these vectors “it” looks most at “tired”, then at itself, then at “animal”: the arithmetic "
     "decides, not what we know about the sentence. Training moves Q and K until “it” finds “animal”. Try "
     "`--focus it`.",
     it},
    {"it-trained", "the same sentence with queries and keys that `attend train it` learned",
     "Six made-up sentences were enough: “it” asks for a living noun, and of the two nouns only “animal” "
     "answers. The other words had nothing to learn, and attend about as before. Try "
     "`--focus it`, and `attend train it` to watch it learn.",
     it_trained},
    {"heads", "two heads, projections, concatenation and Wo",
     "“chased” asks head 1 who did it and finds “cat”; it asks head 2 to whom and finds “mouse”. One softmax "
     "could only have blurred the two answers. Try `--focus chased`.",
     heads},
    {"causal", "the tokens of `love`, each seeing only itself and what came before",
     "“I” can look only at itself, so its output is its own vector. Words added later do not change the rows "
     "above "
     "them: that is what lets a model write text word by word.",
     causal},
    {"cross", "queries from one sentence, keys and values from another",
     "“black” finds “noir” and “cat” finds “chat” although the two languages order them differently: "
     "attention compares contents, not positions.",
     cross},
    {"positions", "permuting the tokens permutes the result, until positions are added",
     "“dog bites man” and “man bites dog” are the same set of words, and without positions attention gives "
     "each word the same vector in both. With positions added, who bites whom becomes visible.",
     positions},
    {"scale", "what happens to softmax and its gradient without 1/√d, for d = 4 to 4096",
     "Without 1/√d the scores spread like √d, softmax puts all its weight on one key, and almost no gradient "
     "comes back: nothing can be learned. Divided by √d they keep their size, whatever d is.",
     scale},
};

}  // namespace

std::span<const BuiltInExample> examples() noexcept { return kExamples; }

const BuiltInExample* find_example(std::string_view name) noexcept {
  for (const BuiltInExample& example : kExamples) {
    if (example.name == name) return &example;
  }
  return nullptr;
}

}  // namespace attend::steps
