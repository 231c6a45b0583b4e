// What a language model expects next, as arrays in a file.
#include "explain/array_list.h"
#include "explain/next.h"

namespace attend::explain {
namespace {

std::vector<std::int64_t> wide(std::span<const std::int32_t> ids) { return {ids.begin(), ids.end()}; }

// name_ids and name_probabilities, of the given shape.
void add_guesses(ArrayList& arrays, const std::string& name, const Dims& shape,
                 std::span<const TokenGuess> guesses) {
  std::vector<std::int64_t> ids;
  std::vector<double> probabilities;
  for (const TokenGuess& guess : guesses) {
    ids.push_back(guess.token);
    probabilities.push_back(guess.probability);
  }
  arrays.add(name + "_ids", shape, ids);
  arrays.add(name + "_probabilities", Tensor::from<double>(shape, probabilities));
}

void add_layers(ArrayList& arrays, const LogitLens& lens) {
  std::vector<TokenGuess> guesses;
  std::vector<double> probabilities;
  std::vector<std::int64_t> ranks;
  for (const LayerGuesses& layer : lens.layers) {
    guesses.insert(guesses.end(), layer.guesses.begin(), layer.guesses.end());
    probabilities.push_back(layer.probability);
    ranks.push_back(layer.rank + 1);
  }
  const auto layers = static_cast<std::int64_t>(lens.layers.size());
  add_guesses(arrays, "layer", {layers, static_cast<std::int64_t>(guesses.size()) / layers}, guesses);
  arrays.add("watched", {1}, {lens.watched});
  arrays.add("watched_probabilities", probabilities);
  arrays.add("watched_ranks", {layers}, ranks);
}

void add_patched(ArrayList& arrays, const Reading& other, const PatchedAnswers& patched) {
  arrays.add("patched_states", copy_of(patched.states));
  arrays.add("patched_heads", copy_of(patched.heads));
  arrays.add("patched_answers", {2}, {patched.answer, patched.other});
  arrays.add("patched_differences", {patched.clean, patched.changed});
  arrays.add("other_ids", {other.size()}, wide(other.tokens().ids));
}

}  // namespace

void save_next_arrays(const Reading& reading, const Reading* other, const NextAnswer& answer,
                      const std::filesystem::path& file, std::string_view format) {
  ArrayList arrays;
  arrays.add("ids", {reading.size()}, wide(reading.tokens().ids));
  arrays.add("place", {1}, {answer.place});
  add_guesses(arrays, "candidate", {static_cast<std::int64_t>(answer.guesses.size())}, answer.guesses);
  add_layers(arrays, answer.layers);
  arrays.add("attributions", answer.attributions.tokens);
  arrays.add("logits", {answer.attributions.logit, answer.attributions.neutral_logit});
  if (answer.patched) add_patched(arrays, *other, *answer.patched);
  arrays.save(file, format);
}

}  // namespace attend::explain
