#include "explain/next.h"

#include "draw/printable.h"

namespace attend::explain {

NextAnswer find_next(const Reading& reading, const Reading* other, const NextRequest& request) {
  NextAnswer answer{.place = guessed_place(reading)};
  answer.guesses = guess_tokens(reading, answer.place, request.top, request.temperature);
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
