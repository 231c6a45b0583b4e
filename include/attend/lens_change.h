// What the output depends on: its gradients, and how it changes when heads or links between words are
// removed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <attend/lens.h>

namespace attend {

// The vector of the text as embed() pools it, before any dense layer and norm: f64.
std::vector<double> text_vector(const Reading& reading);

// How the cosine of that vector with another one changes with what heads contribute: for LensMethod::grad.
// Throws where their sizes differ.
PassGradients gradients_towards(const Reading& reading, std::span<const double> other);

// What a language model expects at one token's place in a text: under a mask, or (GPT-2) after the token. The
// probabilities are those at a temperature: softmax(logits / temperature), over the whole vocabulary. Throws
// where the model has no head that guesses tokens.
struct TokenGuess {
  std::int32_t token = 0;
  double probability = 0;
};
std::vector<TokenGuess> guess_tokens(const Reading& reading, std::int64_t place, std::size_t most,
                                     double temperature = 1);

// The place to guess: that of the only mask, or (GPT-2) the last. Throws where there is no mask, or more than
// one.
std::int64_t guessed_place(const Reading& reading);
// The single token of a word. Throws for a word of several tokens, because the head guesses one at a time.
std::int32_t guessed_token(const Reading& reading, std::string_view word);

// How the logit of a token at a place changes with what heads contribute: for LensMethod::grad.
PassGradients gradients_towards_token(const Reading& reading, std::int64_t place, std::int32_t token);

// The same text read again with edits, compared with the pass of the reading.
struct OutputChange {
  double text_cosine = 1;                 // of the text's vector, before and after
  double text_distance = 0;               // the length of its difference, as a share of its length
  std::vector<double> word_cosines;       // of the vector of each of words(), as it leaves the last layer
  std::optional<NotFinite> not_finite{};  // of the pass with the edits
};
OutputChange change_by(const Reading& reading, const PassEdits& edits);

// Edits as text:
//   4.2               head 2 of layer 4
//   4                 all heads of layer 4
//   it>animal         what "it" takes from "animal", in every head
//   4.2:it>animal     the same in one head; 4:it>animal in those of a layer
// each with =0.5 after it to scale instead of remove. Throws std::invalid_argument, one sentence.
PassEdits parse_edit(const Reading& reading, std::string_view text);

}  // namespace attend
