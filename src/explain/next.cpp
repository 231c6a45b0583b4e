#include "explain/next.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "draw/printable.h"

namespace attend::explain {
namespace {

// Candidates as a temperature makes them: p^(1/T), made to add up to 1 again over the whole vocabulary.
std::vector<TokenGuess> guesses_at(const Reading& reading, std::int64_t place, const NextRequest& request) {
  if (!(request.temperature > 0) || std::isinf(request.temperature))
    refuse("next", "temperature is ", request.temperature, ", expected a positive number");
  if (request.temperature == 1) return guess_tokens(reading, place, request.top);
  const auto all = static_cast<std::size_t>(reading.model().transformer().description().vocabulary_size);
  std::vector<TokenGuess> guesses = guess_tokens(reading, place, all);
  const double largest = guesses.front().probability;
  double sum = 0;
  for (TokenGuess& guess : guesses) {
    guess.probability = std::pow(guess.probability / largest, 1 / request.temperature);
    sum += guess.probability;
  }
  for (TokenGuess& guess : guesses) guess.probability /= sum;
  guesses.resize(std::min(guesses.size(), request.top));
  return guesses;
}

}  // namespace

NextAnswer find_next(const Reading& reading, const Reading* other, const NextRequest& request) {
  NextAnswer answer{.place = guessed_place(reading)};
  answer.guesses = guesses_at(reading, answer.place, request);
  std::optional<std::int32_t> word, other_word;
  if (request.word) word = guessed_token(reading, *request.word);
  if (request.other_word) other_word = guessed_token(reading, *request.other_word);
  answer.layers = logit_lens(reading, answer.place, 3, word);
  answer.attributions = attribute_guess(reading, answer.place, answer.layers.watched,
                                        {.method = request.attribution, .steps = request.steps});
  if (other != nullptr) {
    answer.patched = patch_answers(reading, *other, {.answer = answer.layers.watched, .other = other_word});
  }
  return answer;
}

std::string shown_token(const Reading& reading, std::int32_t token) {
  return draw::printable(reading.model().tokenizer().decode(std::span(&token, 1), false));
}

std::vector<std::string> token_labels(const Reading& reading) {
  std::vector<std::string> labels;
  for (const std::int32_t id : reading.tokens().ids) {
    const std::string text = shown_token(reading, id);
    const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
    labels.push_back(first == text.npos ? draw::printable(std::string(reading.model().tokenizer().token(id)))
                                        : text.substr(first, last - first + 1));
  }
  return labels;
}

}  // namespace attend::explain
