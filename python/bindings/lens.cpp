// ReadingCore: what attention did with a text, behind attend.lens.
#include "lens.h"

#include <attend/lens_heads.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "bindings.h"
#include "compute.h"
#include "errors.h"
#include "numbers.h"
#include "results.h"
#include "text.h"
#include "text_model.h"

namespace attend_python {

attend::HeadChoice head_choice_from(nb::handle layer, nb::handle head) {
  return {.layer = optional_integer_from(layer, "layer"), .head = optional_integer_from(head, "head")};
}

attend::LensQuery query_from(const LensReading& reading, nb::handle method_given, nb::handle layer,
                             nb::handle head, nb::handle gradients_given) {
  const std::string method = name_from(method_given, "method");
  const LensGradients* gradients = nullptr;
  if (!gradients_given.is_none() && !nb::try_cast(gradients_given, gradients))
    refuse_type("gradients must be those that gradients_towards() returns");
  const auto named = attend::lens_method_named(method);
  if (!named) refuse_value("method is \"", method, "\", expected raw, norm, rollout, flow or grad");
  attend::LensQuery query{.method = *named, .heads = head_choice_from(layer, head)};
  if (*named != attend::LensMethod::grad) {
    if (gradients != nullptr) refuse_value("gradients are for the method grad, and method is ", method);
    return query;
  }
  if (gradients == nullptr)
    refuse_value("method grad needs gradients: those that gradients_towards() returns");
  if (gradients->reading != reading.reading) refuse_value("gradients are those of another reading");
  query.gradients = &gradients->gradients;
  return query;
}

attend::SinkChoice sink_from(nb::handle given) {
  const std::string name = name_from(given, "sink");
  const auto choice = attend::sink_choice_named(name);
  if (!choice) refuse_value("sink is \"", name, "\", expected auto, fold or keep");
  return *choice;
}

std::size_t word_from(nb::handle word, const std::vector<attend::Word>& units) {
  if (PyUnicode_Check(word.ptr())) return attend::find_word(units, text_of(word, "word"));
  if (!is_integer(word)) refuse_type("a word is neither a str nor a whole number");
  const std::int64_t number = integer_from(word, "word");
  if (number < 0 || number >= static_cast<std::int64_t>(units.size()))
    refuse_value("word is ", number, ", but there are ", units.size(), ", counted from 0");
  return static_cast<std::size_t>(number);
}

nanobind::object numpy_of_values(std::span<const double> values) {
  attend::Tensor tensor(attend::DType::f64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.values<double>().begin());
  return numpy_of(std::move(tensor));
}

std::optional<NotFiniteFields> fields_of(const attend::Reading& reading,
                                         const std::optional<attend::NotFinite>& where) {
  if (!where) return std::nullopt;
  return NotFiniteFields{where->layer, where->part, where->token, attend::sentence_of(reading, *where)};
}

namespace {

namespace nb = nanobind;
using attend::Word;

// text, begin, end, first_token, last_token, part, special, unknown
using WordFields =
    std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool>;

template <class Values>
nb::object computed(const Values& values) {
  std::vector<double> result;
  {
    const Computing computing;
    result = values();
  }
  return numpy_of_values(result);
}

LensReading read(nb::handle given, nb::handle text, nb::handle pair, nb::handle max_tokens,
                 nb::handle only_layer) {
  const attend::ReadingOptions options{.max_tokens = optional_integer_from(max_tokens, "max_tokens"),
                                       .only_layer = optional_integer_from(only_layer, "only_layer")};
  const attend::TextModel model = model_of(given);
  std::string first(text_of(text, "text"));
  std::string second(pair.is_none() ? std::string_view() : text_of(pair, "pair"));
  const Computing computing;
  return {std::make_shared<const attend::Reading>(model, std::move(first), std::move(second), options)};
}

std::vector<Word> units_of(const LensReading& reading, bool tokens) {
  return tokens ? attend::single_tokens(*reading) : reading->words();
}

// Which units are shown: special ones or not, and the first token or not, which is then a unit by itself.
struct Shown {
  bool tokens, special;
  attend::SinkChoice sink;
  bool folds = false;
  std::vector<Word> all{};

  Shown(nb::handle tokens_given, nb::handle special_given, nb::handle sink_given)
      : tokens(flag_from(tokens_given, "tokens")),
        special(flag_from(special_given, "special")),
        sink(sink_from(sink_given)) {}

  void look_at(const LensReading& reading) {
    all = units_of(reading, tokens);
    if (sink != attend::SinkChoice::keep)
      folds = attend::folds_first_token(sink, attend::first_token_of(*reading)) && reading->size() > 1;
    if (folds) all = attend::first_token_apart(*reading, std::move(all));
  }
  bool shows(const Word& unit) const {
    return (special || !unit.special) && !(folds && unit.first_token == 0);
  }

  // What is shown of a row, made to add up to 1 again where something is left out of a distribution.
  std::vector<double> part_of(std::span<const double> row, attend::LensMethod method) const {
    std::vector<double> kept;
    double sum = 0;
    for (std::size_t u = 0; u < all.size(); ++u) {
      if (!shows(all[u])) continue;
      kept.push_back(row[u]);
      sum += row[u];
    }
    const bool shares = method != attend::LensMethod::flow && method != attend::LensMethod::grad;
    if (!shares || kept.size() == row.size()) return kept;
    for (double& value : kept) value = value == 0 ? 0 : value / sum;
    return kept;
  }
};

std::vector<WordFields> unit_fields(const LensReading& reading, nb::handle tokens, nb::handle special,
                                    nb::handle sink) {
  Shown shown(tokens, special, sink);
  shown.look_at(reading);
  std::vector<WordFields> fields;
  for (const Word& unit : shown.all) {
    if (shown.shows(unit))
      fields.emplace_back(unit.text, unit.place.begin, unit.place.end, unit.first_token, unit.last_token,
                          unit.part, unit.special, unit.unknown);
  }
  return fields;
}

nb::object map(const LensReading& reading, nb::handle method, nb::handle layer, nb::handle head,
               nb::handle tokens, nb::handle special, nb::handle sink, nb::handle gradients) {
  Shown shown(tokens, special, sink);
  const attend::LensQuery query = query_from(reading, method, layer, head, gradients);
  attend::Tensor result;
  {
    const Computing computing;
    shown.look_at(reading);
    const auto kept = std::count_if(shown.all.begin(), shown.all.end(),
                                    [&](const Word& unit) { return shown.shows(unit); });
    result = attend::Tensor(attend::DType::f64, {kept, kept});
    auto out = result.values<double>().begin();
    attend::lens_each_row(*reading, query, shown.all, [&](std::size_t unit, std::span<const double> row) {
      if (!shown.shows(shown.all[unit])) return;
      const std::vector<double> values = shown.part_of(row, query.method);
      out = std::copy(values.begin(), values.end(), out);
    });
  }
  return numpy_of(std::move(result));
}

nb::object row(const LensReading& reading, nb::handle word, nb::handle method, nb::handle layer,
               nb::handle head, nb::handle tokens, nb::handle special, nb::handle sink,
               nb::handle gradients) {
  Shown shown(tokens, special, sink);
  const attend::LensQuery query = query_from(reading, method, layer, head, gradients);
  const std::vector<Word> units = units_of(reading, shown.tokens);
  const std::size_t unit = word_from(word, units);
  return computed([&] {
    shown.look_at(reading);
    const std::size_t moved =
        unit + shown.all.size() - units.size();  // the first token is apart from its word
    return shown.part_of(attend::lens_row(*reading, query, shown.all, moved), query.method);
  });
}

nb::object received(const LensReading& reading, nb::handle layer, nb::handle head, nb::handle tokens,
                    nb::handle special, nb::handle sink) {
  Shown shown(tokens, special, sink);
  const attend::HeadChoice heads = head_choice_from(layer, head);
  return computed([&] {
    shown.look_at(reading);
    std::erase_if(shown.all, [&](const Word& unit) { return !shown.shows(unit); });
    return attend::lens_received(*reading, heads, shown.all);
  });
}

// text, special, share, even, is_sink
using FirstTokenFields = std::tuple<std::string, bool, double, double, bool>;

std::optional<FirstTokenFields> first_token(const LensReading& reading) {
  std::optional<attend::FirstToken> first;
  {
    const Computing computing;
    first = attend::first_token_of(*reading);
  }
  if (!first) return std::nullopt;
  return FirstTokenFields{first->text, first->special, first->share, first->even, first->is_sink()};
}

attend::WordRelation relation_from(const LensReading& reading, nb::handle from, nb::handle to) {
  return {.from = word_from(from, reading->words()), .to = word_from(to, reading->words())};
}

nb::list profile_heads(const LensReading& reading, nb::handle pairs) {
  std::vector<attend::WordRelation> relations;
  for (const nb::handle pair : pairs) {
    const bool text = PyUnicode_Check(pair.ptr()) || PyBytes_Check(pair.ptr());
    const std::vector<nb::object> words = text ? std::vector<nb::object>() : items_of(pair, "a relation");
    if (words.size() != 2) refuse_value("a relation is a pair of words");
    relations.push_back(relation_from(reading, words[0], words[1]));
  }
  std::vector<attend::HeadProfile> profiles;
  {
    const Computing computing;
    profiles = attend::profile_heads(*reading, relations);
  }
  nb::list fields;
  for (const attend::HeadProfile& one : profiles) {
    const std::string habit(attend::habit_of(one));
    fields.append(nb::make_tuple(one.layer, one.head, one.previous, one.next, one.same_token, one.same_word,
                                 one.first, one.separator, one.entropy, one.broad, one.relations, habit,
                                 reading->key_head(one.layer, one.head)));
  }
  return fields;
}

nb::list find_heads(const LensReading& reading, nb::handle from, nb::handle to) {
  const attend::WordRelation relation = relation_from(reading, from, to);
  std::vector<attend::HeadLink> links;
  {
    const Computing computing;
    links = attend::find_heads(*reading, relation);
  }
  nb::list fields;
  for (const attend::HeadLink& link : links)
    fields.append(nb::make_tuple(link.layer, link.head, link.weight, link.share,
                                 reading->key_head(link.layer, link.head)));
  return fields;
}

nb::tuple compare(const LensReading& first, nb::handle word, const LensReading& second,
                  nb::handle other_word) {
  const std::size_t one = word_from(word, first->words()), other = word_from(other_word, second->words());
  attend::WordComparison result;
  {
    const Computing computing;
    result = attend::compare_word(*first, one, *second, other);
  }
  return nb::make_tuple(result.static_cosine, numpy_of_values(result.cosines),
                        numpy_of(std::move(result.taken_first)), numpy_of(std::move(result.taken_second)));
}

nb::object word_vector(const LensReading& reading, nb::handle word, nb::handle layer_given) {
  const std::int64_t layer = optional_integer_from(layer_given, "layer").value_or(reading->layers());
  const std::size_t number = word_from(word, reading->words());
  return computed([&] { return attend::word_vector(*reading, number, layer); });
}

nb::object static_word_vector(const LensReading& reading, nb::handle word) {
  const std::size_t number = word_from(word, reading->words());
  return computed([&] { return attend::static_word_vector(*reading, number); });
}

std::int64_t key_heads(const LensReading& reading, nb::handle layer_given) {
  const std::int64_t layer = integer_from(layer_given, "layer");
  if (layer < 1 || layer > reading->layers())
    refuse_value("layer is ", layer, ", expected 1 to ", reading->layers());
  return reading->key_heads(layer);
}

std::vector<std::string> token_texts(const LensReading& reading) {
  std::vector<std::string> texts;
  for (Word& token : attend::single_tokens(*reading)) texts.push_back(std::move(token.text));
  return texts;
}

// Arrays of their own: they may be written to, and outlive the reading.
template <class Part>
auto layer_part(Part attend::Reading::Layer::*part) {
  return [part](const LensReading& reading, nb::handle layer) {
    return numpy_of(attend::copy_of(reading->layer(integer_from(layer, "layer")).*part));
  };
}

constexpr const char* kArrays32 = " -> numpy.typing.NDArray[numpy.float32]";
constexpr const char* kArrays64 = " -> numpy.typing.NDArray[numpy.float64]";
std::string signature(const char* head, const char* result) { return std::string("def ") + head + result; }

void bind_questions(nb::class_<LensReading>& reading) {
  const auto maybe = [](const char* name) { return nb::arg(name).none(); };
  reading
      .def("map", &map, nb::arg("method").none(), maybe("layer"), maybe("head"), nb::arg("tokens").none(),
           nb::arg("special").none(), nb::arg("sink").none(), maybe("gradients"),
           nb::sig(signature("map(self, method: str, layer: int | None, head: int | None, tokens: bool, "
                             "special: bool, sink: str, gradients: GradientsCore | None)",
                             kArrays64)
                       .c_str()))
      .def("row", &row, nb::arg("word").none(), nb::arg("method").none(), maybe("layer"), maybe("head"),
           nb::arg("tokens").none(), nb::arg("special").none(), nb::arg("sink").none(), maybe("gradients"),
           nb::sig(signature("row(self, word: str | int, method: str, layer: int | None, head: int | None, "
                             "tokens: bool, special: bool, sink: str, gradients: GradientsCore | None)",
                             kArrays64)
                       .c_str()))
      .def("received", &received, maybe("layer"), maybe("head"), nb::arg("tokens").none(),
           nb::arg("special").none(), nb::arg("sink").none(),
           nb::sig(signature("received(self, layer: int | None, head: int | None, tokens: bool, special: "
                             "bool, sink: str)",
                             kArrays64)
                       .c_str()))
      .def("profile_heads", &profile_heads, nb::arg("relations").none(),
           nb::sig("def profile_heads(self, relations: collections.abc.Iterable[tuple[str | int, str | int]])"
                   " -> list[tuple[typing.Any, ...]]"))
      .def("find_heads", &find_heads, nb::arg("from_word").none(), nb::arg("to_word").none(),
           nb::sig("def find_heads(self, from_word: str | int, to_word: str | int)"
                   " -> list[tuple[int, int, float, float, int]]"));
}

}  // namespace

void bind_lens(nb::module_& module) {
  nb::class_<LensGradients>(module, "GradientsCore", "How an output changes with what heads bring.");
  nb::class_<LensReading> reading(module, "ReadingCore", "One pass over a text, behind attend.lens.Reading.");
  reading.def_prop_ro("text", [](const LensReading& self) { return self->text(); })
      .def_prop_ro("pair", [](const LensReading& self) { return self->second(); })
      .def_prop_ro("answer", [](const LensReading& self) { return self->answer(); })
      .def_prop_ro("answer_begins", [](const LensReading& self) { return self->target_begins(); })
      .def_prop_ro("unknown_tokens", [](const LensReading& self) { return self->unknown_tokens(); })
      .def_prop_ro("tokens", &token_texts)
      .def_prop_ro("dropped", [](const LensReading& self) { return self->tokens().dropped; })
      .def_prop_ro("not_finite", [](const LensReading& self) { return fields_of(*self, self->not_finite()); })
      .def_prop_ro("layers", [](const LensReading& self) { return self->layers(); })
      .def_prop_ro("heads", [](const LensReading& self) { return self->heads(); })
      .def("key_heads", &key_heads, nb::arg("layer").none(),
           nb::sig("def key_heads(self, layer: int) -> int"))
      .def("first_token", &first_token,
           nb::sig("def first_token(self) -> tuple[str, bool, float, float, bool] | None"))
      .def("units", &unit_fields, nb::arg("tokens").none(), nb::arg("special").none(), nb::arg("sink").none(),
           nb::sig("def units(self, tokens: bool, special: bool, sink: str) -> list[tuple[str, int, int, "
                   "int, int, int, "
                   "bool, bool]]"))
      .def(
          "find_word",
          [](const LensReading& self, nb::handle word) { return word_from(word, self->words()); },
          nb::arg("word").none(), nb::sig("def find_word(self, word: str | int) -> int"))
      .def(
          "hidden",
          [](const LensReading& self, nb::handle layer) {
            return numpy_of(attend::copy_of(self->hidden(integer_from(layer, "layer"))));
          },
          nb::arg("layer").none(), nb::sig(signature("hidden(self, layer: int)", kArrays32).c_str()))
      .def("q", layer_part(&attend::Reading::Layer::q), nb::arg("layer").none(),
           nb::sig(signature("q(self, layer: int)", kArrays32).c_str()))
      .def("k", layer_part(&attend::Reading::Layer::k), nb::arg("layer").none(),
           nb::sig(signature("k(self, layer: int)", kArrays32).c_str()))
      .def("v", layer_part(&attend::Reading::Layer::v), nb::arg("layer").none(),
           nb::sig(signature("v(self, layer: int)", kArrays32).c_str()))
      .def(
          "vector",
          [](const LensReading& self) { return computed([&] { return attend::text_vector(*self); }); },
          nb::sig(signature("vector(self)", kArrays64).c_str()))
      .def("word_vector", &word_vector, nb::arg("word").none(), nb::arg("layer").none(),
           nb::sig(signature("word_vector(self, word: str | int, layer: int | None)", kArrays64).c_str()))
      .def("static_word_vector", &static_word_vector, nb::arg("word").none(),
           nb::sig(signature("static_word_vector(self, word: str | int)", kArrays64).c_str()));
  bind_questions(reading);
  bind_lens_outputs(reading);
  module.def("read", &read, nb::arg("model").none(), nb::arg("text").none(), nb::arg("pair").none(),
             nb::arg("max_tokens").none(), nb::arg("only_layer").none(),
             nb::sig("def read(model: TextModelCore, text: str | bytes, pair: str | bytes | None, "
                     "max_tokens: int | None, only_layer: int | None) -> ReadingCore"));
  module.def("compare_word", &compare, nb::arg("first"), nb::arg("word").none(), nb::arg("second"),
             nb::arg("other_word").none(),
             nb::sig("def compare_word(first: ReadingCore, word: str | int, second: ReadingCore, "
                     "other_word: str | int) -> tuple[float, numpy.typing.NDArray[numpy.float64], "
                     "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"));
}

}  // namespace attend_python
