// What the output of a pass depends on: gradients, guesses, edits.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <tuple>
#include <utility>

#include "compute.h"
#include "lens.h"
#include "lens_edits.h"
#include "numbers.h"
#include "text.h"

namespace attend_python {
namespace {

namespace nb = nanobind;

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

LensGradients towards_vector(const LensReading& reading, const Doubles& vector) {
  const Computing computing;
  return {reading.reading, attend::gradients_towards(*reading, std::span(vector.data(), vector.size()))};
}

LensGradients towards_text(const LensReading& reading, nb::handle text) {
  std::string other(text_of(text, "the other text"));
  const Computing computing;
  const attend::Reading second(reading->model(), std::move(other));
  return {reading.reading, attend::gradients_towards(*reading, attend::text_vector(second))};
}

LensGradients towards_word(const LensReading& reading, nb::handle word, nb::handle place_given) {
  const std::int64_t place = place_from(reading, place_given);
  const std::string name(text_of(word, "the word"));
  const Computing computing;
  return {reading.reading,
          attend::gradients_towards_token(*reading, place, attend::guessed_token(*reading, name))};
}

// token, probability
std::vector<std::tuple<std::string, double>> guesses(const LensReading& reading, nb::handle top_given,
                                                     nb::handle place_given) {
  const auto top = static_cast<std::size_t>(integer_from(top_given, "top", 1));
  const std::int64_t place = place_from(reading, place_given);
  std::vector<attend::TokenGuess> found;
  {
    const Computing computing;
    found = attend::guess_tokens(*reading, place, top);
  }
  std::vector<std::tuple<std::string, double>> fields;
  for (const attend::TokenGuess& guess : found)
    fields.emplace_back(reading->model().tokenizer().token(guess.token), guess.probability);
  return fields;
}

LensReading edited(const LensReading& reading, nb::handle edits_given) {
  const attend::PassEdits edits = edits_from(reading, edits_given);
  const Computing computing;
  return {std::make_shared<const attend::Reading>(*reading, edits)};
}

nb::tuple ablate(const LensReading& reading, nb::handle edits_given) {
  const attend::PassEdits edits = edits_from(reading, edits_given);
  attend::OutputChange change;
  {
    const Computing computing;
    change = attend::change_by(*reading, edits);
  }
  return nb::make_tuple(change.text_cosine, change.text_distance, numpy_of_values(change.word_cosines),
                        fields_of(*reading, change.not_finite));
}

}  // namespace

void bind_lens_outputs(nb::class_<LensReading>& reading) {
  reading
      .def("towards_vector", &towards_vector, nb::arg("vector"),
           nb::sig("def towards_vector(self, vector: numpy.typing.NDArray[numpy.float64]) -> GradientsCore"))
      .def("towards_text", &towards_text, nb::arg("text").none(),
           nb::sig("def towards_text(self, text: str | bytes) -> GradientsCore"))
      .def("towards_word", &towards_word, nb::arg("word").none(), nb::arg("place").none(),
           nb::sig("def towards_word(self, word: str | bytes, place: int | None) -> GradientsCore"))
      .def("guesses", &guesses, nb::arg("top").none(), nb::arg("place").none(),
           nb::sig("def guesses(self, top: int, place: int | None) -> list[tuple[str, float]]"))
      .def("edited", &edited, nb::arg("edits").none(),
           nb::sig("def edited(self, edits: collections.abc.Iterable[typing.Any]) -> ReadingCore"))
      .def("ablate", &ablate, nb::arg("edits").none(),
           nb::sig("def ablate(self, edits: collections.abc.Iterable[typing.Any])"
                   " -> tuple[float, float, numpy.typing.NDArray[numpy.float64],"
                   " tuple[int, str, int, str] | None]"));
}

}  // namespace attend_python
