// GeneratorCore: text that a model writes, behind attend.Generator.
#include <attend/generation.h>
#include <attend/generator_batch.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
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

// A number that may be None.
std::optional<double> optional_number_from(nb::handle given, const char* name) {
  return given.is_none() ? std::nullopt : std::optional(number_from(given, name));
}

// Each a dict of role and content.
std::vector<attend::ChatMessage> messages_from(nb::handle given) {
  std::vector<attend::ChatMessage> messages;
  for (const nb::object& one : items_of(given, "messages")) {
    if (!nb::isinstance<nb::dict>(one)) refuse_type("a message is not a dict of role and content");
    const nb::dict fields = nb::cast<nb::dict>(one);
    attend::ChatMessage message;
    bool has_role = false, has_content = false;
    for (const auto& [key, value] : fields) {
      const std::string_view name = text_of(key, "a key of a message");
      if (name == "role") {
        message.role = text_of(value, "the role of a message");
        has_role = true;
      } else if (name == "content") {
        message.content = text_of(value, "the content of a message");
        has_content = true;
      } else {
        refuse_value("a message has the key \"", std::string(name), "\", expected role and content");
      }
    }
    if (!has_role || !has_content) refuse_value("a message has no ", has_role ? "content" : "role");
    messages.push_back(std::move(message));
  }
  return messages;
}

class GeneratorCore {
 public:
  GeneratorCore(nb::handle model, nb::handle cache_type)
      : generator_(made_from(model, cache_type_from(cache_type))) {}

  // All but the first argument of generate() and chat(), in their order.
  struct Given {
    nb::handle max_tokens, temperature, top_k, top_p, min_p, repetition_penalty, frequency_penalty,
        presence_penalty, seed, stop, stop_tokens, ignore_end, on_token, log_probabilities;
  };

  nb::tuple generate(nb::handle prompt, nb::args rest) {
    const attend::GenerateOptions options = options_from(rest);
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

  nb::tuple chat(nb::handle messages, nb::args rest) {
    const std::vector<attend::ChatMessage> conversation = messages_from(messages);
    const attend::GenerateOptions options = options_from(rest);
    attend::Generated written;
    {
      const Serving serving(mutex_, Signals::handled);
      written = generator_.chat(conversation, options);
    }
    return fields_of(written, options.log_probabilities);
  }

  nb::list generate_many(nb::handle prompts, nb::handle at_once, nb::args rest) {
    std::vector<std::variant<std::string, std::vector<std::int32_t>>> given;
    for (const nb::object& one : items_of(prompts, "prompts")) {
      if (is_text(one)) {
        given.emplace_back(std::string(text_of(one, "a prompt")));
      } else {
        given.emplace_back(ids_of_text(one, "the ids of a prompt"));
      }
    }
    return many(given, at_once, rest, false, [&](const auto& prompt) {
      const auto* const text = std::get_if<std::string>(&prompt);
      return text != nullptr ? generator_.prompt_of(*text) : std::get<std::vector<std::int32_t>>(prompt);
    });
  }

  nb::list chat_many(nb::handle conversations, nb::handle at_once, nb::args rest) {
    std::vector<std::vector<attend::ChatMessage>> given;
    for (const nb::object& one : items_of(conversations, "conversations"))
      given.push_back(messages_from(one));
    return many(given, at_once, rest, true,
                [&](const auto& messages) { return generator_.chat_prompt(messages); });
  }

  nb::list chat_prompt(nb::handle messages) {
    const std::vector<attend::ChatMessage> conversation = messages_from(messages);
    std::vector<std::int32_t> ids;
    {
      const Serving serving(mutex_, Signals::handled);
      ids = generator_.chat_prompt(conversation);
    }
    nb::list list;
    for (const std::int32_t id : ids) list.append(id);
    return list;
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
  // ids_of(one of `given`): while this object serves nobody else, and without the GIL.
  template <class Given, class IdsOf>
  nb::list many(const Given& given, nb::handle at_once, nb::args rest, bool ends_without_room,
                const IdsOf& ids_of) {
    const attend::GenerateOptions options = options_from(rest);
    const attend::TogetherOptions together{.at_once = integer_from(at_once, "at_once", 1),
                                           .ends_without_room = ends_without_room};
    std::vector<attend::Generated> written;
    {
      const Serving serving(mutex_, Signals::handled);
      std::vector<std::vector<std::int32_t>> prompts;
      for (const auto& one : given) prompts.push_back(ids_of(one));
      written = attend::generate_together(generator_, prompts, options, together);
    }
    nb::list all;
    for (const attend::Generated& one : written) all.append(fields_of(one, options.log_probabilities));
    return all;
  }

  static attend::GenerateOptions options_from(nb::args rest) {
    const Given given{rest[0], rest[1], rest[2], rest[3],  rest[4],  rest[5],  rest[6],
                      rest[7], rest[8], rest[9], rest[10], rest[11], rest[12], rest[13]};
    attend::GenerateOptions options{
        .stop_tokens = stop_tokens_from(given.stop_tokens),
        .stop = stop_texts_from(given.stop),
        .ignore_end = flag_from(given.ignore_end, "ignore_end"),
        .log_probabilities = flag_from(given.log_probabilities, "log_probabilities")};
    if (!given.max_tokens.is_none()) options.max_tokens = integer_from(given.max_tokens, "max_tokens", 0);
    attend::Sampling& sampling = options.sampling;
    sampling.temperature = optional_number_from(given.temperature, "temperature");
    if (sampling.temperature &&
        !(*sampling.temperature >= 0 && *sampling.temperature <= std::numeric_limits<double>::max()))
      refuse_value("temperature is ", *sampling.temperature, ", expected at least 0");
    if (!given.top_k.is_none()) sampling.top_k = integer_from(given.top_k, "top_k", 0);
    sampling.top_p = optional_number_from(given.top_p, "top_p");
    sampling.min_p = optional_number_from(given.min_p, "min_p");
    sampling.repetition_penalty = optional_number_from(given.repetition_penalty, "repetition_penalty");
    sampling.frequency_penalty = number_from(given.frequency_penalty, "frequency_penalty");
    sampling.presence_penalty = number_from(given.presence_penalty, "presence_penalty");
    sampling.seed = seed_from(given.seed, "seed");
    if (!given.on_token.is_none()) {
      if (PyCallable_Check(given.on_token.ptr()) == 0) refuse_type("on_token cannot be called");
      const bool with_log_probability = options.log_probabilities;
      options.on_token = [on_token = given.on_token,
                          with_log_probability](const attend::GeneratedToken& token) {
        const nb::gil_scoped_acquire held;
        nb::object log_probability = nb::none();
        if (with_log_probability) log_probability = nb::float_(token.log_probability);
        return !nb::object(on_token(token.id, text_from(token.text), log_probability)).is(nb::bool_(false));
      };
    }
    return options;
  }

  static attend::Generator made_from(nb::handle given, attend::CacheType cache) {
    const attend::TextModel model = model_of(given);
    const Computing computing;
    return attend::Generator(model, cache);
  }

  // (text, ids, log-probabilities or None, why it ended, tokens of the prompt, dropped, reused, rereads)
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
    return nb::make_tuple(text_from(written.text), ids, found, nb::str(reason.data(), reason.size()),
                          written.prompt_tokens, written.dropped, written.reused, written.rereads);
  }

  attend::Generator generator_;
  std::mutex mutex_;
};

}  // namespace

constexpr const char* kGenerateSignature =
    "def generate(self, prompt: str | bytes | numpy.typing.ArrayLike, *rest: object) -> "
    "tuple[str, list[int], numpy.typing.NDArray[numpy.float64] | None, str, int, int, int, int]";
constexpr const char* kChatSignature =
    "def chat(self, messages: collections.abc.Sequence[collections.abc.Mapping[str, str]], *rest: object) -> "
    "tuple[str, list[int], numpy.typing.NDArray[numpy.float64] | None, str, int, int, int, int]";

constexpr const char* kGenerateManySignature =
    "def generate_many(self, prompts: collections.abc.Iterable[object], at_once: int, *rest: object) -> "
    "list[tuple[str, list[int], numpy.typing.NDArray[numpy.float64] | None, str, int, int, int, int]]";
constexpr const char* kChatManySignature =
    "def chat_many(self, conversations: collections.abc.Iterable[object], at_once: int, *rest: object) -> "
    "list[tuple[str, list[int], numpy.typing.NDArray[numpy.float64] | None, str, int, int, int, int]]";

void bind_generator(nb::module_& module) {
  const auto maybe = [](const char* name) { return nb::arg(name).none(); };
  nb::class_<GeneratorCore>(module, "GeneratorCore", "Text that a model writes, behind attend.Generator.")
      .def(nb::init<nb::handle, nb::handle>(), nb::arg("model"), nb::arg("cache_type").none(),
           nb::sig("def __init__(self, model: TextModelCore, cache_type: str) -> None"))
      .def("generate", &GeneratorCore::generate, maybe("prompt"), nb::arg("rest"),
           nb::sig(kGenerateSignature))
      .def("chat", &GeneratorCore::chat, maybe("messages"), nb::arg("rest"), nb::sig(kChatSignature))
      .def("generate_many", &GeneratorCore::generate_many, maybe("prompts"), nb::arg("at_once"),
           nb::arg("rest"), nb::sig(kGenerateManySignature))
      .def("chat_many", &GeneratorCore::chat_many, maybe("conversations"), nb::arg("at_once"),
           nb::arg("rest"), nb::sig(kChatManySignature))
      .def("chat_prompt", &GeneratorCore::chat_prompt, maybe("messages"),
           nb::sig(
               "def chat_prompt(self, messages: collections.abc.Sequence[collections.abc.Mapping[str, str]]) "
               "-> list[int]"))
      .def("read", &GeneratorCore::read, maybe("ids"),
           nb::sig("def read(self, ids: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float32]"))
      .def("read_source", &GeneratorCore::read_source, maybe("ids"),
           nb::sig("def read_source(self, ids: numpy.typing.ArrayLike) -> None"))
      .def("clear", &GeneratorCore::clear)
      .def_prop_ro("length", &GeneratorCore::length);
}

}  // namespace attend_python
