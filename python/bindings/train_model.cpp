// ModelCore: a model that learns, a batch at a time, behind attend.train.Model.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <attend/attention.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "learn/model_folder.h"
#include "learn/task.h"
#include "model/own_model.h"
#include "numbers.h"
#include "options.h"
#include "paths.h"
#include "results.h"
#include "train.h"
#include "train/model.h"
#include "train/optimiser.h"

namespace attend_python {
namespace {

namespace nb = nanobind;
namespace learn = attend::learn;
namespace train = attend::train;

using Ids = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Lengths = std::vector<std::int64_t>;

attend::model::ModelKind kind_from(nb::handle given) {
  const std::string name = choice_from(given, "kind", {"encoder", "decoder", "encoder_decoder"});
  if (name == "encoder") return attend::model::ModelKind::encoder;
  if (name == "decoder") return attend::model::ModelKind::decoder;
  return attend::model::ModelKind::encoder_decoder;
}

// Whether a layer is one of those that `which` names: "self", "cross" or "encoder".
bool is_of(attend::LayerKind kind, std::string_view which) {
  if (which == "encoder") return kind == attend::LayerKind::encoder;
  if (which == "cross") return kind == attend::LayerKind::cross;
  return kind == attend::LayerKind::whole || kind == attend::LayerKind::decoder;
}

train::Sequences sequences_from(const Ids& ids, const Lengths& lengths) {
  return {static_cast<std::int64_t>(ids.shape(0)),
          static_cast<std::int64_t>(ids.shape(1)),
          {ids.data(), ids.data() + ids.size()},
          lengths};
}

class Model {
 public:
  Model(const ConfigCore& config, nb::handle kind, nb::handle vocabulary, nb::handle length, nb::handle batch,
        nb::handle dtype, nb::handle seed)
      : model_(described(config, kind, integer_from(vocabulary, "vocabulary", 1),
                         integer_from(length, "length", 1)),
               {.sequences = integer_from(batch, "batch", 1),
                .dropout = config.config.dropout,
                .recompute = config.config.recompute,
                .precision = config.config.precision},
               float_from(dtype)) {
    model_.parameters().initialise(seed_from(seed, "seed"));
  }

  // Without targets nothing is predicted.
  static train::Batch batch_from(const Ids& ids, const Lengths& lengths, const std::optional<Ids>& source,
                                 const Lengths& source_lengths, const std::optional<Ids>& targets) {
    train::Batch batch{.tokens = sequences_from(ids, lengths)};
    if (source) batch.source = sequences_from(*source, source_lengths);
    if (targets) {
      if (targets->shape(0) != ids.shape(0) || targets->shape(1) != ids.shape(1)) {
        refuse_value("targets have shape (", targets->shape(0), ", ", targets->shape(1), "), and ids (",
                     ids.shape(0), ", ", ids.shape(1), ")");
      }
      batch.targets.assign(targets->data(), targets->data() + targets->size());
    } else {
      batch.targets.assign(ids.size(), attend::kNoTarget);
    }
    return batch;
  }

  // (the sum of the losses, how many tokens have a target, how many of them were predicted right)
  nb::tuple evaluate(const Ids& ids, const Ids& targets, nb::handle lengths, const std::optional<Ids>& source,
                     nb::handle source_lengths) {
    const train::Batch batch = batch_from(ids, integers_from(lengths, "lengths"), source,
                                          integers_from(source_lengths, "source_lengths"), targets);
    attend::CrossEntropy found;
    {
      const Serving serving(mutex_, Signals::handled);
      found = model_.evaluate(batch);
    }
    return nb::make_tuple(found.loss, found.counted, found.right);
  }

  // A call that a signal ends has added a part of its gradient, so all gradients are cleared.
  nb::tuple learn(const Ids& ids, const Ids& targets, nb::handle lengths, const std::optional<Ids>& source,
                  nb::handle source_lengths, nb::handle weight_given, nb::handle seed_given) {
    const train::Batch batch = batch_from(ids, integers_from(lengths, "lengths"), source,
                                          integers_from(source_lengths, "source_lengths"), targets);
    const std::uint64_t seed = seed_from(seed_given, "seed");
    const auto counted = std::count_if(batch.targets.begin(), batch.targets.end(),
                                       [](std::int32_t target) { return target != attend::kNoTarget; });
    const double weight = weight_given.is_none() ? 1 / static_cast<double>(std::max<std::int64_t>(1, counted))
                                                 : number_from(weight_given, "weight");
    attend::CrossEntropy found;
    {
      const Serving serving(mutex_, Signals::handled);
      try {
        found = model_.learn(batch, weight, seed);
      } catch (const nb::python_error&) {
        model_.parameters().clear_gradients();
        throw;
      }
    }
    return nb::make_tuple(found.loss, found.counted, found.right);
  }

  // Of one token of the first sequence, (vocabulary).
  nb::object logits(const Ids& ids, nb::handle row_given, const std::optional<Ids>& source) {
    const std::int64_t row = integer_from(row_given, "row");
    const train::Batch batch = batch_from(ids, {}, source, {}, {});
    if (row < 0 || row >= batch.tokens.length)
      refuse_value("row is ", row, ", and there are ", batch.tokens.length, " tokens");
    attend::Tensor found;
    {
      const Serving serving(mutex_, Signals::handled);
      found = model_.logits(batch, row);
    }
    return numpy_of(std::move(found), 1);
  }

  // (layers, heads, rows, columns) of one sequence.
  nb::object attention(const Ids& ids, const std::optional<Ids>& source, nb::handle which_given) {
    const std::string which = choice_from(which_given, "which", {"self", "cross", "encoder"});
    const train::Batch batch = batch_from(ids, {}, source, {}, {});
    if (batch.tokens.count != 1) refuse_value("attention: expected one sequence, not ", batch.tokens.count);
    std::vector<attend::Tensor> layers;
    {
      const Serving serving(mutex_, Signals::handled);
      model_.evaluate(batch, [&](const attend::LayerMoment& moment) {
        if (moment.layer == 0 || !is_of(model_.description().layer_kind(moment.layer), which)) return;
        layers.push_back(attend::attention_rows(moment.q, moment.k, moment.options, attend::Stage::weights,
                                                {}, moment.row_state));
      });
    }
    if (layers.empty()) refuse_value("this model has no attention of the kind ", which);
    const attend::Dims one = layers[0].shape();
    attend::Tensor all(layers[0].dtype(), {static_cast<std::int64_t>(layers.size()), one[1], one[2], one[3]});
    for (std::size_t i = 0; i < layers.size(); ++i) {
      attend::copy(layers[i].view().select(0, 0), all.view().select(0, static_cast<std::int64_t>(i)));
    }
    return numpy_of(std::move(all));
  }

  nb::dict values() { return copies_of(model_.parameters(), &train::Parameters::value, mutex_); }
  nb::dict gradients() { return copies_of(model_.parameters(), &train::Parameters::gradient, mutex_); }
  void load(const nb::dict& values) { load_parameters(model_.parameters(), values, mutex_); }
  void clear_gradients() {
    const Serving serving(mutex_);
    model_.parameters().clear_gradients();
  }
  void clear_moments() {
    const Serving serving(mutex_);
    for (const attend::TensorView& moments :
         {model_.parameters().first_moments(), model_.parameters().second_moments()}) {
      std::memset(moments.raw(), 0, static_cast<std::size_t>(moments.count()) * size_of(moments.dtype()));
    }
  }
  std::int64_t numbers() { return model_.parameters().numbers(); }

  // Step number `step`. Clears the gradient and returns its norm.
  double adamw_step(const train::AdamWOptions& options, double rate, std::int64_t step) {
    const Serving serving(mutex_);
    train::Parameters& parameters = model_.parameters();
    const double norm = train::gradient_norm(parameters);
    if (!std::isfinite(norm)) {
      throw std::runtime_error("the gradient is not finite; the parameters stay as they were");
    }
    train::adamw_step(parameters, options, rate, step, norm);
    parameters.clear_gradients();
    return norm;
  }

  // start: of an encoder-decoder, the token that a target follows.
  void save(nb::handle folder_given, const std::string& tokenizer_json, std::optional<std::int32_t> start) {
    const std::filesystem::path folder = path_from(folder_given, "folder");
    const Serving serving(mutex_);
    std::filesystem::create_directories(folder);
    learn::save_model_folder(folder, model_, tokenizer_json, start);
  }

 private:
  static attend::ModelDescription described(const ConfigCore& config, nb::handle kind,
                                            std::int64_t vocabulary, std::int64_t length) {
    attend::model::OwnModel own = config.config.model;
    own.kind = kind_from(kind);
    own.vocabulary = vocabulary;
    own.length = length;
    return attend::model::describe(own);
  }
  static attend::DType float_from(nb::handle name) {
    const attend::DType dtype = dtype_from(name);
    if (dtype != attend::DType::f32 && dtype != attend::DType::f64)
      refuse_type("a model learns in float32 or float64, not ", name_of(dtype));
    return dtype;
  }

  train::Model model_;
  std::mutex mutex_;
};

}  // namespace

void bind_train_model(nb::module_& module) {
  const auto maybe = [](const char* name) { return nb::arg(name).none(); };
  const auto arg = [](const char* name) { return nb::arg(name); };
#define ATTEND_IDS "numpy.typing.NDArray[numpy.int32]"
  nb::class_<Model>(module, "ModelCore", "A model that learns, behind attend.train.Model.")
      .def(nb::init<const ConfigCore&, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle,
                    nb::handle>(),
           arg("config"), maybe("kind"), maybe("vocabulary"), maybe("length"), maybe("batch"), maybe("dtype"),
           maybe("seed"),
           nb::sig("def __init__(self, config: ConfigCore, kind: str, vocabulary: int, length: int, batch: "
                   "int, dtype: DType, seed: int) -> None"))
      .def("evaluate", &Model::evaluate, arg("ids"), arg("targets"), maybe("lengths"), maybe("source"),
           maybe("source_lengths"),
           nb::sig("def evaluate(self, ids: " ATTEND_IDS ", targets: " ATTEND_IDS
                   ", lengths: Integers, source: " ATTEND_IDS
                   " | None, source_lengths: Integers) -> tuple[float, int, int]"))
      .def("learn", &Model::learn, arg("ids"), arg("targets"), maybe("lengths"), maybe("source"),
           maybe("source_lengths"), maybe("weight"), maybe("seed"),
           nb::sig("def learn(self, ids: " ATTEND_IDS ", targets: " ATTEND_IDS
                   ", lengths: Integers, source: " ATTEND_IDS
                   " | None, source_lengths: Integers, weight: float | None, seed: int) -> tuple[float, "
                   "int, int]"))
      .def("logits", &Model::logits, arg("ids"), maybe("row"), maybe("source"),
           nb::sig("def logits(self, ids: " ATTEND_IDS ", row: int, source: " ATTEND_IDS
                   " | None) -> numpy.typing.NDArray[typing.Any]"))
      .def("attention", &Model::attention, arg("ids"), maybe("source"), maybe("which"),
           nb::sig("def attention(self, ids: " ATTEND_IDS ", source: " ATTEND_IDS
                   " | None, which: str) -> numpy.typing.NDArray[typing.Any]"))
      .def("parameters", &Model::values,
           nb::sig("def parameters(self) -> dict[str, numpy.typing.NDArray[typing.Any]]"))
      .def("gradients", &Model::gradients,
           nb::sig("def gradients(self) -> dict[str, numpy.typing.NDArray[typing.Any]]"))
      .def("load_parameters", &Model::load, arg("values"),
           nb::sig("def load_parameters(self, values: dict[str, Array]) -> None"))
      .def("clear_gradients", &Model::clear_gradients)
      .def("clear_moments", &Model::clear_moments)
      .def("numbers", &Model::numbers)
      .def(
          "adamw_step",
          [](Model& self, nb::handle rate, nb::handle beta1, nb::handle beta2, nb::handle epsilon,
             nb::handle decay, nb::handle clip, nb::handle step) {
            return self.adamw_step(
                {number_from(beta1, "betas[0]"), number_from(beta2, "betas[1]"),
                 number_from(epsilon, "epsilon"), number_from(decay, "decay"), number_from(clip, "clip")},
                number_from(rate, "rate"), integer_from(step, "step", 1));
          },
          maybe("rate"), maybe("beta1"), maybe("beta2"), maybe("epsilon"), maybe("decay"), maybe("clip"),
          maybe("step"),
          nb::sig(
              "def adamw_step(self, rate: float, beta1: float, beta2: float, epsilon: float, decay: float, "
              "clip: float, step: int) -> float"))
      .def(
          "save", &Model::save, maybe("folder"), arg("tokenizer_json"), maybe("start"),
          nb::sig("def save(self, folder: str | os.PathLike[str], tokenizer_json: str, start: int | None) -> "
                  "None"));
#undef ATTEND_IDS
  module.def(
      "train_word_tokenizer",
      [](nb::handle words, nb::handle start) {
        std::vector<std::string> names;
        for (const nb::handle word : words) names.push_back(name_from(word, "a word"));
        return learn::word_tokenizer(names, name_from(start, "start"));
      },
      maybe("words"), maybe("start"),
      nb::sig("def train_word_tokenizer(words: list[str], start: str) -> str"));
  module.def(
      "train_rate",
      [](nb::handle step, nb::handle peak, nb::handle floor, nb::handle warmup, nb::handle steps) {
        return train::Schedule{number_from(peak, "peak"), number_from(floor, "floor"),
                               integer_from(warmup, "warmup", 0), integer_from(steps, "steps", 0)}
            .rate(integer_from(step, "step", 0));
      },
      maybe("step"), maybe("peak"), maybe("floor"), maybe("warmup"), maybe("steps"),
      nb::sig("def train_rate(step: int, peak: float, floor: float, warmup: int, steps: int) -> float"));
}

}  // namespace attend_python
