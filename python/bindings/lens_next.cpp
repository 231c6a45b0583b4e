// What a model that writes expects next, and what made it expect that: behind attend.lens.
#include <attend/lens_next.h>

#include <nanobind/stl/optional.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "bindings.h"
#include "compute.h"
#include "errors.h"
#include "explain/next.h"
#include "figure.h"
#include "lens.h"
#include "numbers.h"
#include "results.h"
#include "text.h"

namespace attend_python {

std::int64_t place_from(const LensReading& reading, nanobind::handle given) {
  const std::optional<std::int64_t> place = optional_integer_from(given, "place");
  if (!place) return attend::guessed_place(*reading);
  const std::int64_t tokens = reading->size();
  if (*place < -tokens || *place >= tokens)
    refuse_value("place is ", *place, ", but there are ", tokens,
                 " tokens, counted from 0 (or from -1, back)");
  return *place < 0 ? *place + tokens : *place;
}

namespace {

namespace nb = nanobind;

// A candidate as a word or by its id; None: none.
std::optional<std::int32_t> candidate_from(const LensReading& reading, nb::handle given, const char* name) {
  if (given.is_none()) return std::nullopt;
  if (PyUnicode_Check(given.ptr()) || PyBytes_Check(given.ptr()))
    return attend::guessed_token(*reading, text_of(given, name));
  if (!is_integer(given)) refuse_type(name, " is neither a str nor the number of a token");
  const std::int64_t id = integer_from(given, name, 0);
  if (id > std::numeric_limits<std::int32_t>::max())
    refuse_value(name, " is ", id, ", which is not a token of the model");
  return static_cast<std::int32_t>(id);
}

// id, token, text
nb::tuple token_fields(const LensReading& reading, std::int32_t id) {
  const attend::Tokenizer& tokenizer = reading->model().tokenizer();
  return nb::make_tuple(id, text_from(std::string(tokenizer.token(id))),
                        text_from(tokenizer.decode(std::span(&id, 1), false)));
}

// (id, token, text), probability
nb::list guess_fields(const LensReading& reading, const std::vector<attend::TokenGuess>& guesses) {
  nb::list fields;
  for (const attend::TokenGuess& guess : guesses)
    fields.append(nb::make_tuple(token_fields(reading, guess.token), guess.probability));
  return fields;
}

nb::list next(const LensReading& reading, nb::handle place_given, nb::handle top_given,
              nb::handle temperature_given) {
  const std::int64_t place = place_from(reading, place_given);
  const auto top = static_cast<std::size_t>(integer_from(top_given, "top", 1));
  const double temperature = number_from(temperature_given, "temperature");
  std::vector<attend::TokenGuess> guesses;
  {
    const Computing computing;
    guesses = attend::guess_tokens(*reading, place, top, temperature);
  }
  return guess_fields(reading, guesses);
}

// place, watched, [(layer, candidates, probability, rank)]
nb::tuple logit_lens(const LensReading& reading, nb::handle place_given, nb::handle top_given,
                     nb::handle watched_given) {
  const std::int64_t place = place_from(reading, place_given);
  const auto top = static_cast<std::size_t>(integer_from(top_given, "top", 1));
  const std::optional<std::int32_t> watched = candidate_from(reading, watched_given, "watched");
  attend::LogitLens lens;
  {
    const Computing computing;
    lens = attend::logit_lens(*reading, place, top, watched);
  }
  nb::list layers;
  for (const attend::LayerGuesses& layer : lens.layers)
    layers.append(
        nb::make_tuple(layer.layer, guess_fields(reading, layer.guesses), layer.probability, layer.rank + 1));
  return nb::make_tuple(place, token_fields(reading, lens.watched), layers);
}

attend::Attribution attribution_from(nb::handle given) {
  return choice_from(given, "method", {"integrated", "gradient"}) == "gradient"
             ? attend::Attribution::gradient
             : attend::Attribution::integrated;
}

// place, token, values, logit, and of integrated ones: neutral token, its logit, missing
nb::tuple attribute(const LensReading& reading, nb::handle token_given, nb::handle place_given,
                    nb::handle method, nb::handle steps, nb::handle neutral) {
  const std::int64_t place = place_from(reading, place_given);
  std::optional<std::int32_t> token = candidate_from(reading, token_given, "token");
  const attend::AttributionOptions options{.method = attribution_from(method),
                                           .steps = integer_from(steps, "steps"),
                                           .neutral_token = candidate_from(reading, neutral, "neutral")};
  attend::TokenAttributions parts;
  {
    const Computing computing;
    if (!token) token = attend::guess_tokens(*reading, place, 1).front().token;
    parts = attend::attribute_guess(*reading, place, *token, options);
  }
  const bool integrated = options.method == attend::Attribution::integrated;
  return nb::make_tuple(place, token_fields(reading, *token), numpy_of_values(parts.tokens), parts.logit,
                        integrated ? nb::object(token_fields(reading, parts.neutral_token)) : nb::none(),
                        integrated ? nb::cast(parts.neutral_logit) : nb::none(),
                        integrated ? nb::cast(parts.missing) : nb::none());
}

// answer, other, clean, changed, states, heads
nb::tuple patch(const LensReading& clean, const LensReading& changed, nb::handle answer, nb::handle other,
                nb::handle states, nb::handle heads) {
  const attend::PatchOptions options{.states = flag_from(states, "states"),
                                     .heads = flag_from(heads, "heads"),
                                     .answer = candidate_from(clean, answer, "answer"),
                                     .other = candidate_from(changed, other, "other")};
  attend::PatchedAnswers patched;
  {
    const Computing computing;
    patched = attend::patch_answers(*clean, *changed, options);
  }
  const auto array = [](attend::Tensor& tensor, bool asked) {
    return asked ? numpy_of(std::move(tensor)) : nb::none();
  };
  return nb::make_tuple(token_fields(clean, patched.answer), token_fields(clean, patched.other),
                        patched.clean, patched.changed, array(patched.states, options.states),
                        array(patched.heads, options.heads));
}

std::optional<std::string> word_given(nb::handle word, const char* name) {
  if (word.is_none()) return std::nullopt;
  return std::string(text_of(word, name));
}

FigureCore next_figure(const LensReading& reading, nb::handle patch_given, nb::handle word,
                       nb::handle other_word, nb::handle method, nb::handle steps, nb::handle temperature,
                       nb::handle top) {
  const LensReading* other = nullptr;
  if (!patch_given.is_none() && !nb::try_cast(patch_given, other)) refuse_type("patch is not a Reading");
  const attend::explain::NextRequest request{.word = word_given(word, "word"),
                                             .other_word = word_given(other_word, "other_word"),
                                             .attribution = attribution_from(method),
                                             .steps = integer_from(steps, "steps"),
                                             .temperature = number_from(temperature, "temperature"),
                                             .top = static_cast<std::size_t>(integer_from(top, "top", 1))};
  if (request.other_word && other == nullptr)
    refuse_value("other_word is the answer to the text of patch, and there is none");
  const attend::Reading* const second = other == nullptr ? nullptr : other->reading.get();
  const Computing computing;
  return {attend::explain::next_figure(*reading, second, request,
                                       attend::explain::find_next(*reading, second, request))};
}

}  // namespace

void bind_lens_next(nb::module_& module) {
  module.def("lens_next", &next, nb::arg("reading"), nb::arg("place").none(), nb::arg("top").none(),
             nb::arg("temperature").none(),
             nb::sig("def lens_next(reading: ReadingCore, place: int | None, top: int, temperature: float)"
                     " -> list[tuple[tuple[int, str, str], float]]"));
  module.def("lens_logit_lens", &logit_lens, nb::arg("reading"), nb::arg("place").none(),
             nb::arg("top").none(), nb::arg("watched").none(),
             nb::sig("def lens_logit_lens(reading: ReadingCore, place: int | None, top: int, watched: str | "
                     "bytes | int | None) -> tuple[int, tuple[int, str, str], list[tuple[int, "
                     "list[tuple[tuple[int, str, str], float]], float, int]]]"));
  module.def("lens_attribute", &attribute, nb::arg("reading"), nb::arg("token").none(),
             nb::arg("place").none(), nb::arg("method").none(), nb::arg("steps").none(),
             nb::arg("neutral").none(),
             nb::sig("def lens_attribute(reading: ReadingCore, token: str | bytes | int | None, place: int | "
                     "None, method: str, steps: int, neutral: str | bytes | int | None) -> tuple[int, "
                     "tuple[int, str, str], numpy.typing.NDArray[numpy.float64], float, tuple[int, str, str] "
                     "| None, float | None, float | None]"));
  module.def("lens_patch", &patch, nb::arg("clean"), nb::arg("changed"), nb::arg("answer").none(),
             nb::arg("other").none(), nb::arg("states").none(), nb::arg("heads").none(),
             nb::sig("def lens_patch(clean: ReadingCore, changed: ReadingCore, answer: str | bytes | int | "
                     "None, other: str | bytes | int | None, states: bool, heads: bool) -> tuple[tuple[int, "
                     "str, str], tuple[int, str, str], float, float, numpy.typing.NDArray[numpy.float64] | "
                     "None, numpy.typing.NDArray[numpy.float64] | None]"));
  module.def("lens_next_figure", &next_figure, nb::arg("reading"), nb::arg("patch").none(),
             nb::arg("word").none(), nb::arg("other_word").none(), nb::arg("method").none(),
             nb::arg("steps").none(), nb::arg("temperature").none(), nb::arg("top").none(),
             nb::sig("def lens_next_figure(reading: ReadingCore, patch: ReadingCore | None, word: str | "
                     "bytes | None, other_word: str | bytes | None, method: str, steps: int, temperature: "
                     "float, top: int) -> FigureCore"));
}

}  // namespace attend_python
