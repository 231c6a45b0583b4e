// Tokenizer: text to ids with offsets, and back.
#include <attend/file_error.h>
#include <attend/tokenizer.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "compute.h"
#include "errors.h"
#include "ids.h"
#include "numbers.h"
#include "paths.h"
#include "text.h"

namespace attend_python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

attend::Encoding encode(const attend::Tokenizer& tokenizer, nb::handle text, nb::handle pair,
                        nb::handle add_special_tokens, nb::handle truncate, nb::handle max_length) {
  const attend::EncodeOptions options{
      .add_special_tokens = flag_from(add_special_tokens, "add_special_tokens"),
      .truncate = flag_from(truncate, "truncate"),
      .max_length = optional_integer_from(max_length, "max_length")};
  const bool one = pair.is_none();
  const std::string_view first = text_of(text, "text"), second = one ? "" : text_of(pair, "pair");
  const Computing computing;
  return one ? tokenizer.encode(first, options) : tokenizer.encode(first, second, options);
}

std::string decode(const attend::Tokenizer& tokenizer, nb::handle given, nb::handle skip_special) {
  const std::vector<std::int32_t> ids = ids_of_text(given, "ids");
  const bool skip = flag_from(skip_special, "skip_special");
  const Computing computing;
  return tokenizer.decode(ids, skip);
}

std::vector<std::pair<std::int32_t, std::int32_t>> offsets(const attend::Encoding& encoding) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (const auto& [begin, end] : encoding.offsets) pairs.emplace_back(begin, end);
  return pairs;
}

std::vector<std::optional<std::int32_t>> words(const attend::Encoding& encoding) {
  std::vector<std::optional<std::int32_t>> numbers;
  for (const std::int32_t word : encoding.words)
    numbers.push_back(word < 0 ? std::nullopt : std::optional(word));
  return numbers;
}

void bind_encoding(nb::module_& module) {
  nb::class_<attend::Encoding>(module, "Encoding", "The tokens of a text, or of a pair of texts.")
      .def_prop_ro("ids", [](const attend::Encoding& e) { return e.ids; })
      .def_prop_ro("type_ids", [](const attend::Encoding& e) { return e.type_ids; })
      .def_prop_ro("offsets", &offsets,
                   "The characters of the text that each token stands for; (0, 0) for special tokens.")
      .def_prop_ro("words", &words,
                   "The number of the word that each token belongs to; None for special tokens.")
      .def_prop_ro(
          "special",
          [](const attend::Encoding& e) { return std::vector<bool>(e.special.begin(), e.special.end()); })
      .def_ro("dropped", &attend::Encoding::dropped, "How many tokens truncation left out.")
      .def("__repr__",
           [](const attend::Encoding& e) {
             return "<attend.Encoding of " + std::to_string(e.size()) +
                    (e.size() == 1 ? " token>" : " tokens>");
           })
      .def("__len__", &attend::Encoding::size);
}

}  // namespace

void bind_tokenizer(nb::module_& module) {
  using attend::Tokenizer;
  bind_encoding(module);
  nb::class_<Tokenizer>(module, "Tokenizer", "A tokenizer as a tokenizer.json describes it.")
      .def(
          "__init__",
          [](Tokenizer* self, nb::handle given) {
            const std::filesystem::path path = path_from(given, "path");
            const nb::gil_scoped_release released;
            new (self) Tokenizer(Tokenizer::load(path));
          },
          "path"_a.none(), nb::sig("def __init__(self, path: str | os.PathLike[str]) -> None"),
          "Reads a tokenizer.json, a BERT vocab.txt, a GGUF file, or a folder that holds one of them, as "
          "load() does.")
      .def("__repr__",
           [](const Tokenizer& tokenizer) {
             return "<attend.Tokenizer, " + std::to_string(tokenizer.vocabulary_size()) + " tokens, " +
                    std::string(tokenizer.algorithm()) + ">";
           })
      .def_static(
          "load",
          [](nb::handle given) {
            const std::filesystem::path path = path_from(given, "path");
            const nb::gil_scoped_release released;
            return Tokenizer::load(path);
          },
          "path"_a.none(), nb::sig("def load(path: str | os.PathLike[str]) -> Tokenizer"),
          "Reads a tokenizer.json, a BERT vocab.txt, or a folder that holds one of them.")
      .def_static(
          "from_json",
          [](nb::handle json, nb::handle name) {
            return Tokenizer::from_json(text_of(json, "json"), name_from(name, "name"));
          },
          "json"_a.none(), "name"_a.none() = "tokenizer.json",
          nb::sig("def from_json(json: str | bytes, name: str = ...) -> Tokenizer"),
          "Reads the text of a tokenizer.json; `name` is what errors call it.")
      .def("encode", &encode, "text"_a.none(), "pair"_a = nb::none(), nb::kw_only(),
           "add_special_tokens"_a.none() = true, "truncate"_a.none() = true, "max_length"_a = nb::none(),
           nb::sig("def encode(self, text: str | bytes, pair: str | bytes | None = None, *, "
                   "add_special_tokens: bool = True, truncate: bool = True, max_length: int | None = None) "
                   "-> Encoding"),
           "Tokens of a text or a pair. max_length, special tokens included, is as the file says unless "
           "given.")
      .def("decode", &decode, "ids"_a.none(), "skip_special"_a.none() = true,
           nb::sig("def decode(self, ids: numpy.typing.ArrayLike, skip_special: bool = True) -> str"),
           "The text of these tokens.")
      .def(
          "token",
          [](const Tokenizer& tokenizer, nb::handle id) {
            return std::string(tokenizer.token(integer_from(id, "id")));
          },
          "id"_a.none(), nb::sig("def token(self, id: int) -> str"))
      .def(
          "id",
          [](const Tokenizer& tokenizer, nb::handle token) { return tokenizer.id(text_of(token, "token")); },
          "token"_a.none(), nb::sig("def id(self, token: str | bytes) -> int | None"),
          "The id of a token, or None.")
      .def_prop_ro("unknown", &Tokenizer::unknown,
                   "The id of the token for text that the vocabulary does not have, or None.")
      .def_prop_ro("vocabulary_size", &Tokenizer::vocabulary_size, "The largest id and one.")
      .def_prop_ro("max_length", &Tokenizer::max_length, "Where the file truncates, or None.")
      .def(
          "special_count",
          [](const Tokenizer& tokenizer, nb::handle pair) {
            return tokenizer.special_count(flag_from(pair, "pair"));
          },
          "pair"_a.none() = false, nb::sig("def special_count(self, pair: bool = False) -> int"),
          "How many tokens are added around a text.");
}

}  // namespace attend_python
