// GeneratorCore: text that a model writes, behind attend.Generator.
#include <attend/generation.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "ids.h"
#include "numbers.h"
#include "results.h"
#include "serving.h"
#include "text.h"
#include "text_model.h"

namespace attend_python {
namespace {

namespace nb = nanobind;

bool is_text(nb::handle given) { return PyUnicode_Check(given.ptr()) || PyBytes_Check(given.ptr()); }

// None, one text or several.
std::vector<std::string> stop_texts_from(nb::handle given) {
  std::vector<std::string> texts;
  if (given.is_none()) return texts;
  if (is_text(given)) {
    texts.emplace_back(text_of(given, "stop"));
  } else {
    for (const nb::object& one : items_of(given, "stop")) texts.emplace_back(text_of(one, "a text of stop"));
  }
  for (const std::string& text : texts) {
    if (text.empty()) refuse_value("stop holds an empty text, which is found everywhere");
  }
  return texts;
}

// None, one id or several.
std::vector<std::int32_t> stop_tokens_from(nb::handle given) {
  if (given.is_none()) return {};
  Ids ids(given, "stop_tokens");
  if (ids.shape.rank() > 1)
    refuse_value("stop_tokens have ", ids.shape.rank(), " axes, expected one id or a list of ids");
  return std::move(ids.values);
}

// What each token adds to the text. A token may end in the middle of a character: its bytes wait for the
// rest.
class TextPieces {
 public:
  explicit TextPieces(const attend::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  std::string after(std::int32_t id) {
    ids_.push_back(id);
    const std::string known = decoded(known_), now = decoded(ids_.size());
    if (now.size() <= known.size() || now.ends_with("\uFFFD")) return {};
    start_ = std::exchange(known_, ids_.size());
    return now.substr(known.size());
  }

 private:
  // From the tokens before the last piece on, since what a token looks like may depend on the one before it.
  std::string decoded(std::size_t end) const {
    return tokenizer_.decode(std::span(ids_).subspan(start_, end - start_));
  }

  attend::Tokenizer tokenizer_;
  std::vector<std::int32_t> ids_;
  std::size_t start_ = 0, known_ = 0;  // the last piece is that of ids [start_, known_)
};

class GeneratorCore {
 public:
  explicit GeneratorCore(nb::handle model) : generator_(made_from(model)) {}

  // (text, ids, log-probabilities or None, why it ended)
  nb::tuple generate(nb::handle prompt, nb::handle max_tokens, nb::handle temperature, nb::handle top_k,
                     nb::handle seed, nb::handle stop, nb::handle stop_tokens, nb::handle on_token,
                     nb::handle log_probabilities) {
    attend::GenerateOptions options{.stop_tokens = stop_tokens_from(stop_tokens),
                                    .stop = stop_texts_from(stop),
                                    .log_probabilities = flag_from(log_probabilities, "log_probabilities")};
    if (!max_tokens.is_none()) options.max_tokens = integer_from(max_tokens, "max_tokens", 0);
    if (!temperature.is_none()) {
      const double given = number_from(temperature, "temperature");
      if (!(given >= 0 && given <= std::numeric_limits<double>::max()))
        refuse_value("temperature is ", given, ", expected a number from 0");
      options.sampling.temperature = given;
    }
    options.sampling.top_k = integer_from(top_k, "top_k", 0);
    options.sampling.seed = seed_from(seed, "seed");
    TextPieces pieces(generator_.model().tokenizer());
    if (!on_token.is_none()) {
      if (PyCallable_Check(on_token.ptr()) == 0) refuse_type("on_token cannot be called");
      options.on_token = [&](const attend::GeneratedToken& token) {
        const std::string piece = pieces.after(token.id);
        const nb::gil_scoped_acquire held;
        nb::object log_probability = nb::none();
        if (options.log_probabilities) log_probability = nb::float_(token.log_probability);
        return !nb::object(on_token(token.id, text_from(piece), log_probability)).is(nb::bool_(false));
      };
    }
    const bool text = is_text(prompt);
    const std::string_view words = text ? text_of(prompt, "prompt") : std::string_view();
    const std::vector<std::int32_t> ids =
        text ? std::vector<std::int32_t>() : ids_of_text(prompt, "the ids of the prompt");
    attend::Generated written;
    {
      const Serving serving(mutex_, Signals::handled);
      written = text ? generator_.generate(words, options) : generator_.generate(ids, options);
    }
    return fields_of(written, options.log_probabilities);
  }

  nb::object read(nb::handle given) {
    const std::vector<std::int32_t> ids = ids_of_text(given, "ids");
    attend::Tensor logits;
    {
      const Serving serving(mutex_, Signals::handled);
      logits = generator_.read(ids);
    }
    return numpy_of(std::move(logits));
  }

  void read_source(nb::handle given) {
    const std::vector<std::int32_t> ids = ids_of_text(given, "ids");
    const Serving serving(mutex_, Signals::handled);
    generator_.read_source(ids);
  }

  void clear() {
    const Serving serving(mutex_);
    generator_.clear();
  }

  std::int64_t length() {
    if (Serving::is_serving(mutex_)) return generator_.cache().length();
    const Serving serving(mutex_);
    return generator_.cache().length();
  }

 private:
  static attend::Generator made_from(nb::handle given) {
    const attend::TextModel model = model_of(given);
    const Computing computing;
    return attend::Generator(model);
  }

  static nb::tuple fields_of(const attend::Generated& written, bool log_probabilities) {
    nb::list ids;
    attend::Tensor values(attend::DType::f64, {static_cast<std::int64_t>(written.tokens.size())});
    auto value = values.values<double>().begin();
    for (const attend::GeneratedToken& token : written.tokens) {
      ids.append(token.id);
      *value++ = token.log_probability;
    }
    nb::object found = nb::none();
    if (log_probabilities) found = numpy_of(std::move(values));
    const std::string_view reason = name_of(written.reason);
    return nb::make_tuple(text_from(written.text), ids, found, nb::str(reason.data(), reason.size()));
  }

  attend::Generator generator_;
  std::mutex mutex_;
};

}  // namespace

void bind_generator(nb::module_& module) {
  const auto maybe = [](const char* name) { return nb::arg(name).none(); };
  nb::class_<GeneratorCore>(module, "GeneratorCore", "Text that a model writes, behind attend.Generator.")
      .def(nb::init<nb::handle>(), nb::arg("model"),
           nb::sig("def __init__(self, model: TextModelCore) -> None"))
      .def("generate", &GeneratorCore::generate, maybe("prompt"), maybe("max_tokens"), maybe("temperature"),
           maybe("top_k"), maybe("seed"), maybe("stop"), maybe("stop_tokens"), maybe("on_token"),
           maybe("log_probabilities"),
           nb::sig("def generate(self, prompt: str | bytes | numpy.typing.ArrayLike, max_tokens: int | None, "
                   "temperature: float | None, top_k: int, seed: int, "
                   "stop: str | bytes | collections.abc.Sequence[str | bytes] | None, "
                   "stop_tokens: numpy.typing.ArrayLike | None, "
                   "on_token: collections.abc.Callable[[int, str, float | None], object] | None, "
                   "log_probabilities: bool) "
                   "-> tuple[str, list[int], numpy.typing.NDArray[numpy.float64] | None, str]"))
      .def("read", &GeneratorCore::read, maybe("ids"),
           nb::sig("def read(self, ids: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float32]"))
      .def("read_source", &GeneratorCore::read_source, maybe("ids"),
           nb::sig("def read_source(self, ids: numpy.typing.ArrayLike) -> None"))
      .def("clear", &GeneratorCore::clear)
      .def_prop_ro("length", &GeneratorCore::length);
}

}  // namespace attend_python
