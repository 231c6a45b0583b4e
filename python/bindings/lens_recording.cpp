// Passes that another program recorded: from arrays, into files, and as readings.
#include <attend/lens_recording.h>

#include <nanobind/ndarray.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "bindings.h"
#include "compute.h"
#include "errors.h"
#include "lens.h"
#include "numbers.h"
#include "paths.h"
#include "text.h"

namespace attend_python {
namespace {

namespace nb = nanobind;

// A copy of an array of three axes; no elements for None.
template <class T>
attend::Tensor tensor_from(nb::handle given, const char* name) {
  if (given.is_none()) return {};
  nb::ndarray<const T, nb::c_contig, nb::device::cpu> array;
  if (!nb::try_cast(given, array) || array.ndim() != 3)
    refuse_type(name, " is not an array of three axes of the right type");
  const attend::Dims shape{static_cast<std::int64_t>(array.shape(0)),
                           static_cast<std::int64_t>(array.shape(1)),
                           static_cast<std::int64_t>(array.shape(2))};
  return attend::Tensor::from<T>(shape, std::span(array.data(), array.size()));
}

attend::RecordedLayer recorded_layer_from(nb::handle given) {
  const std::vector<nb::object> parts = items_of(given, "a layer");
  if (parts.size() != 14) refuse_value("a layer has ", parts.size(), " parts, expected 14");
  attend::RecordedLayer layer{.name = std::string(text_of(parts[0], "name")),
                              .q = tensor_from<float>(parts[1], "q"),
                              .k = tensor_from<float>(parts[2], "k"),
                              .v = tensor_from<float>(parts[3], "v"),
                              .weights = tensor_from<float>(parts[4], "weights")};
  if (!parts[5].is_none()) layer.scale = number_from(parts[5], "scale");
  layer.causal = flag_from(parts[6], "causal");
  layer.window = {.left = integer_from(parts[7], "window"), .right = integer_from(parts[8], "window")};
  layer.softcap = number_from(parts[9], "softcap");
  layer.sinks = floats_from(parts[10], "sinks");
  layer.alibi_slopes = floats_from(parts[11], "alibi_slopes");
  layer.mask = tensor_from<bool>(parts[12], "mask");
  layer.bias = tensor_from<float>(parts[13], "bias");
  return layer;
}

std::int32_t small_from(nb::handle given, const char* name) {
  const std::int64_t value = integer_from(given, name, 0);
  if (value > std::numeric_limits<std::int32_t>::max())
    refuse_value(name, " holds ", value, ", which is too large");
  return static_cast<std::int32_t>(value);
}

attend::Recording recording_from(nb::handle layers, nb::handle tokens, nb::handle ids, nb::handle places,
                                 nb::handle special, nb::handle text, nb::handle model, nb::handle family) {
  attend::Recording recording{.model = std::string(text_of(model, "model")),
                              .family = std::string(text_of(family, "family")),
                              .text = std::string(text_of(text, "text"))};
  const std::vector<nb::object> names = items_of(tokens, "tokens"), numbers = items_of(ids, "ids"),
                                spans = items_of(places, "places"), flags = items_of(special, "special");
  const std::size_t count = std::min({names.size(), numbers.size(), spans.size(), flags.size()});
  for (std::size_t t = 0; t < count; ++t) {
    const std::vector<nb::object> ends = items_of(spans[t], "a place");
    if (ends.size() != 2) refuse_value("a place has ", ends.size(), " numbers, expected two");
    recording.tokens.push_back({.text = std::string(text_of(names[t], "a token")),
                                .id = small_from(numbers[t], "ids"),
                                .place = {small_from(ends[0], "places"), small_from(ends[1], "places")},
                                .special = flag_from(flags[t], "special")});
  }
  for (const nb::object& layer : items_of(layers, "layers"))
    recording.layers.push_back(recorded_layer_from(layer));
  return recording;
}

LensReading reading_from(attend::Recording recording) {
  const Computing computing;
  return {std::make_shared<const attend::Reading>(std::move(recording))};
}

LensReading recorded_reading(nb::handle layers, nb::handle tokens, nb::handle ids, nb::handle places,
                             nb::handle special, nb::handle text, nb::handle model, nb::handle family) {
  return reading_from(recording_from(layers, tokens, ids, places, special, text, model, family));
}

void save_recording(nb::handle path_given, nb::handle layers, nb::handle tokens, nb::handle ids,
                    nb::handle places, nb::handle special, nb::handle text, nb::handle model,
                    nb::handle family) {
  const std::filesystem::path path = path_from(path_given, "path");
  const attend::Recording recording =
      recording_from(layers, tokens, ids, places, special, text, model, family);
  const Computing computing;
  attend::save_recording(path, recording);
}

LensReading load_recording(nb::handle path_given) {
  const std::filesystem::path path = path_from(path_given, "path");
  const Computing computing;
  return {std::make_shared<const attend::Reading>(attend::load_recording(path))};
}

}  // namespace

void bind_lens_recording(nb::module_& module) {
  const std::string parts =
      "layers: collections.abc.Sequence[typing.Any], tokens: collections.abc.Sequence[str], ids: "
      "collections.abc.Sequence[int], places: collections.abc.Sequence[tuple[int, int]], special: "
      "collections.abc.Sequence[bool], text: str, model: str, family: str)";
  module.def("recorded_reading", &recorded_reading, nb::arg("layers").none(), nb::arg("tokens").none(),
             nb::arg("ids").none(), nb::arg("places").none(), nb::arg("special").none(),
             nb::arg("text").none(), nb::arg("model").none(), nb::arg("family").none(),
             nb::sig(("def recorded_reading(" + parts + " -> ReadingCore").c_str()));
  module.def("save_recording", &save_recording, nb::arg("path").none(), nb::arg("layers").none(),
             nb::arg("tokens").none(), nb::arg("ids").none(), nb::arg("places").none(),
             nb::arg("special").none(), nb::arg("text").none(), nb::arg("model").none(),
             nb::arg("family").none(),
             nb::sig(("def save_recording(path: str | os.PathLike[str], " + parts + " -> None").c_str()));
  module.def("load_recording", &load_recording, nb::arg("path").none(),
             nb::sig("def load_recording(path: str | os.PathLike[str]) -> ReadingCore"));
}

}  // namespace attend_python
