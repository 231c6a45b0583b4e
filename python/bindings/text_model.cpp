// TextModelCore: a model from its folder, from text to vectors, and what its attention does.
#include <attend/file_error.h>
#include <attend/text_model.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "compute.h"
#include "errors.h"
#include "numbers.h"
#include "options.h"
#include "results.h"
#include "text.h"
#include "text_model.h"

namespace attend_python {
namespace {

namespace nb = nanobind;

attend::Pooling pooling_given(const std::string& name) {
  if (const auto pooling = attend::pooling_named(name)) return *pooling;
  refuse_value("pooling is \"", name,
               "\", expected cls, max, mean, mean_sqrt_length, weighted_mean or last_token");
}

class TextModelCore {
 public:
  TextModelCore(const std::string& name_or_folder, nb::handle precision)
      : model_(loaded(name_or_folder, precision_from(precision))) {}

  nb::object embed(nb::handle texts_object, nb::handle pooling, nb::handle normalize, nb::handle layer,
                   nb::handle max_tokens, nb::handle prompt, nb::handle batch_tokens) const {
    attend::EmbedOptions options{.layer = optional_integer_from(layer, "layer"),
                                 .max_tokens = optional_integer_from(max_tokens, "max_tokens"),
                                 .batch_tokens = integer_from(batch_tokens, "batch_tokens", 1)};
    if (!normalize.is_none()) options.normalize = flag_from(normalize, "normalize_embeddings");
    if (!prompt.is_none()) options.prompt = name_from(prompt, "prompt");
    std::vector<nb::object> held;  // what the views look at
    std::vector<std::string_view> texts;
    for (const nb::handle item : texts_object) {
      held.push_back(nb::borrow(item));
      texts.push_back(text_of(item, "a text"));
    }
    if (!pooling.is_none()) {
      if (PyUnicode_Check(pooling.ptr())) {
        options.pooling = {pooling_given(name_from(pooling, "pooling"))};
      } else {
        for (const nb::handle name : pooling)
          options.pooling.push_back(pooling_given(name_from(name, "pooling")));
      }
    }
    attend::Tensor vectors;
    {
      const Computing computing;
      vectors = model_.embed(texts, options);
    }
    return numpy_of(std::move(vectors));
  }

  // Each item is a tuple of one or two texts. (texts, labels)
  nb::object predict(nb::handle items, nb::handle function, nb::handle max_tokens, nb::handle prompt,
                     nb::handle batch_tokens) const {
    attend::PredictOptions options{.max_tokens = optional_integer_from(max_tokens, "max_tokens"),
                                   .batch_tokens = integer_from(batch_tokens, "batch_tokens", 1)};
    if (!function.is_none()) {
      options.function =
          attend::score_function_named(choice_from(function, "function", {"identity", "sigmoid", "softmax"}));
    }
    if (!prompt.is_none()) options.prompt = name_from(prompt, "prompt");
    std::vector<nb::object> held;  // what the views look at
    std::vector<attend::TextPair> texts;
    for (const nb::handle item : items) {
      held.push_back(nb::borrow(item));
      const nb::tuple parts = nb::cast<nb::tuple>(held.back());
      attend::TextPair& text = texts.emplace_back();
      text.first = text_of(parts[0], "a text");
      if (parts.size() > 1) text.second = text_of(parts[1], "a text");
    }
    attend::Tensor scores;
    {
      const Computing computing;
      scores = model_.predict(texts, options);
    }
    return numpy_of(std::move(scores));
  }

  // The labels of its scores, and the name of the function that makes probabilities of them; None without a
  // head.
  nb::object classifier() const {
    std::optional<attend::SequenceHead> head;
    {
      const Computing computing;
      head = model_.sequence_head();
    }
    if (!head) return nb::none();
    nb::list labels;
    for (const std::string& label : head->labels()) labels.append(text_from(label));
    return nb::make_tuple(labels, std::string(attend::name_of(head->classifier_function())));
  }

  nb::list hidden_states(nb::handle text, nb::handle pair, nb::handle max_tokens) const {
    std::vector<attend::Tensor> layers;
    run(text, pair, max_tokens,
        [&](const attend::LayerMoment& moment) { layers.push_back(attend::copy_of(moment.hidden)); });
    nb::list shown;
    for (attend::Tensor& layer : layers) shown.append(numpy_of(std::move(layer)));
    return shown;
  }

  // One array a chosen layer, (heads, rows, tokens).
  nb::list attention(nb::handle text, nb::handle pair, nb::handle layers, nb::handle heads, nb::handle rows,
                     nb::handle stage, nb::handle max_tokens) const {
    const attend::Indices wanted = indices_from(layers, "layers");
    const attend::RowSelection selection{
        .heads = head_indices_from(heads, model_.transformer().description().heads()),
        .rows = indices_from(rows, "rows")};
    const attend::Stage shown_stage = stage_from(stage);
    const std::int64_t count = model_.transformer().description().layer_count();
    if (!wanted.is_all()) {
      for (const std::int64_t layer : wanted.list()) {
        if (layer < 1 || layer > count)
          refuse_value("layer ", layer, " has no attention; layers with one are 1 to ", count);
      }
    }
    std::vector<attend::Tensor> maps(static_cast<std::size_t>(count) + 1);
    run(text, pair, max_tokens, [&](const attend::LayerMoment& moment) {
      if (moment.layer == 0) return;
      if (!wanted.is_all() &&
          std::find(wanted.list().begin(), wanted.list().end(), moment.layer) == wanted.list().end())
        return;
      maps[static_cast<std::size_t>(moment.layer)] = attend::attention_rows(
          moment.q, moment.k, moment.options, shown_stage, selection, moment.row_state);
    });
    nb::list shown;
    if (wanted.is_all()) {
      for (std::int64_t layer = 1; layer <= count; ++layer)
        shown.append(numpy_of(std::move(maps[static_cast<std::size_t>(layer)]), 1));
    } else {
      for (const std::int64_t layer : wanted.list()) {
        shown.append(numpy_of(attend::copy_of(maps[static_cast<std::size_t>(layer)]), 1));
      }
    }
    return shown;
  }

  attend::Encoding tokenize(nb::handle text, nb::handle pair, nb::handle max_tokens) const {
    const std::optional<std::int64_t> most = optional_integer_from(max_tokens, "max_tokens");
    const bool one = pair.is_none();
    const std::string_view first = text_of(text, "text"), second = one ? "" : text_of(pair, "pair");
    const Computing computing;
    return one ? model_.encode(first, most) : model_.encode(first, second, most);
  }

  const attend::TextModel& model() const { return model_; }

 private:
  static attend::TextModel loaded(const std::string& name, attend::Precision precision) {
    const Computing computing;
    return attend::TextModel::load(name, {.precision = precision});
  }

  void run(nb::handle text, nb::handle pair, nb::handle max_tokens,
           const attend::LayerObserver& observer) const {
    const attend::Encoding tokens = tokenize(text, pair, max_tokens);
    attend::TokenBatch batch;
    batch.add(tokens.ids, tokens.type_ids);
    const Computing computing;
    model_.transformer().forward(batch, observer);
    model_.require_intact();
  }

  attend::TextModel model_;
};

}  // namespace

attend::TextModel model_of(nb::handle model) { return nb::cast<const TextModelCore&>(model).model(); }

void bind_text_model(nb::module_& module) {
  using std::optional;
  nb::exception<attend::FileError> file_error(module, "FileError", PyExc_ValueError);
  file_error.attr("__doc__") = "What is wrong with a file: its name, the place in it, and the rule.";
  module.attr("DEFAULT_MODEL") = nb::str(attend::kDefaultModel.data(), attend::kDefaultModel.size());
  nb::class_<TextModelCore>(module, "TextModelCore", "A model from its folder, behind attend.TextModel.")
      .def(nb::init<const std::string&, nb::handle>(), nb::arg("name_or_folder"), nb::arg("precision").none(),
           nb::sig("def __init__(self, name_or_folder: str, precision: str) -> None"))
      .def_prop_ro(
          "precision",
          [](const TextModelCore& self) {
            return std::string(attend::name_of(self.model().transformer().precision()));
          },
          nb::sig("def precision(self) -> Precision"))
      .def("embed", &TextModelCore::embed, nb::arg("texts").none(), nb::arg("pooling").none(),
           nb::arg("normalize").none(), nb::arg("layer").none(), nb::arg("max_tokens").none(),
           nb::arg("prompt").none(), nb::arg("batch_tokens").none(),
           nb::sig("def embed(self, texts: collections.abc.Iterable[str | bytes], pooling: str | "
                   "collections.abc.Iterable[str] | None, "
                   "normalize: bool | None, layer: int | None, max_tokens: int | None, prompt: str | None, "
                   "batch_tokens: int) "
                   "-> numpy.typing.NDArray[numpy.float32]"))
      .def("predict", &TextModelCore::predict, nb::arg("items").none(), nb::arg("function").none(),
           nb::arg("max_tokens").none(), nb::arg("prompt").none(), nb::arg("batch_tokens").none(),
           nb::sig("def predict(self, items: collections.abc.Iterable[tuple[str | bytes, ...]], "
                   "function: str | None, max_tokens: int | None, prompt: str | None, batch_tokens: int) "
                   "-> numpy.typing.NDArray[numpy.float32]"))
      .def("classifier", &TextModelCore::classifier,
           nb::sig("def classifier(self) -> tuple[list[str], str] | None"))
      .def("hidden_states", &TextModelCore::hidden_states, nb::arg("text").none(), nb::arg("pair").none(),
           nb::arg("max_tokens").none(),
           nb::sig(
               "def hidden_states(self, text: str | bytes, pair: str | bytes | None, max_tokens: int | None) "
               "-> list[numpy.typing.NDArray[numpy.float32]]"))
      .def("attention", &TextModelCore::attention, nb::arg("text").none(), nb::arg("pair").none(),
           nb::arg("layers").none(), nb::arg("heads").none(), nb::arg("rows").none(), nb::arg("stage").none(),
           nb::arg("max_tokens").none(),
           nb::sig("def attention(self, text: str | bytes, pair: str | bytes | None, layers: Choice | None, "
                   "heads: Choice | None, "
                   "rows: Choice | None, stage: str, max_tokens: int | None) -> "
                   "list[numpy.typing.NDArray[numpy.float32]]"))
      .def("tokenize", &TextModelCore::tokenize, nb::arg("text").none(), nb::arg("pair").none(),
           nb::arg("max_tokens").none(),
           nb::sig("def tokenize(self, text: str | bytes, pair: str | bytes | None, max_tokens: int | None) "
                   "-> Encoding"))
      .def_prop_ro("tokenizer", [](const TextModelCore& self) { return self.model().tokenizer(); })
      .def_prop_ro("says_pooling",
                   [](const TextModelCore& self) { return !self.model().files().pooling.empty(); })
      .def_prop_ro("name", [](const TextModelCore& self) { return self.model().files().name; })
      .def_prop_ro("folder", [](const TextModelCore& self) { return self.model().files().folder.string(); })
      .def_prop_ro("max_tokens", [](const TextModelCore& self) { return self.model().max_tokens(); })
      .def_prop_ro("embedding_size", [](const TextModelCore& self) { return self.model().embedding_size(); })
      .def_prop_ro(
          "hidden_size",
          [](const TextModelCore& self) { return self.model().transformer().description().hidden_size; })
      .def_prop_ro(
          "layers",
          [](const TextModelCore& self) { return self.model().transformer().description().layer_count(); })
      .def_prop_ro("heads",
                   [](const TextModelCore& self) { return self.model().transformer().description().heads(); })
      .def_prop_ro(
          "prompts",
          [](const TextModelCore& self) {
            nb::dict prompts;
            for (const auto& [name, text] : self.model().files().prompts)
              prompts[nb::str(name.c_str())] = nb::str(text.c_str());
            return prompts;
          },
          nb::sig("def prompts(self) -> dict[str, str]"));
}

}  // namespace attend_python
