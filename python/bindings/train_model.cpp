// ModelCore: a model that learns, a batch at a time, behind attend.train.Model.
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
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
#include <utility>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "learn/model_folder.h"
#include "learn/task.h"
#include "options.h"
#include "results.h"
#include "train.h"
#include "train/model.h"
#include "train/optimiser.h"

namespace attend_python {
namespace {

namespace nb = nanobind;
namespace train = attend::train;

using Ids = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Lengths = std::vector<std::int64_t>;
using Which = train::LayerAttention::Which;

train::ModelKind kind_from(const std::string& name) {
  if (name == "encoder") return train::ModelKind::encoder;
  if (name == "decoder") return train::ModelKind::decoder;
  if (name == "encoder_decoder") return train::ModelKind::encoder_decoder;
  refuse_value("kind is \"", name, "\", expected encoder, decoder or encoder_decoder");
}

Which which_from(const std::string& name) {
  if (name == "encoder") return Which::encoder;
  if (name == "self") return Which::decoder;
  if (name == "cross") return Which::cross;
  refuse_value("which is \"", name, "\", expected self, cross or encoder");
}

train::Sequences sequences_from(const Ids& ids, const Lengths& lengths) {
  return {static_cast<std::int64_t>(ids.shape(0)),
          static_cast<std::int64_t>(ids.shape(1)),
          {ids.data(), ids.data() + ids.size()},
          lengths};
}

class Model {
 public:
  Model(const ConfigCore& config, const std::string& kind, std::int64_t vocabulary, std::int64_t length,
        std::int64_t batch, nb::handle dtype, nb::handle seed)
      : model_(shape_from(config, kind, vocabulary, length), {.sequences = batch}, float_from(dtype)) {
    model_.parameters().initialise(seed_from(seed, "seed"));
  }

  // Without targets nothing is guessed.
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

  // (the sum of the losses, how many were guessed, how many rightly)
  nb::tuple evaluate(const Ids& ids, const Ids& targets, const Lengths& lengths,
                     const std::optional<Ids>& source, const Lengths& source_lengths) {
    const train::Batch batch = batch_from(ids, lengths, source, source_lengths, targets);
    attend::CrossEntropy found;
    {
      const Serving serving(mutex_);
      found = model_.evaluate(batch);
    }
    return nb::make_tuple(found.loss, found.counted, found.right);
  }

  nb::tuple learn(const Ids& ids, const Ids& targets, const Lengths& lengths,
                  const std::optional<Ids>& source, const Lengths& source_lengths,
                  std::optional<double> weight, std::uint64_t seed) {
    const train::Batch batch = batch_from(ids, lengths, source, source_lengths, targets);
    const auto counted = std::count_if(batch.targets.begin(), batch.targets.end(),
                                       [](std::int32_t target) { return target != attend::kNoTarget; });
    attend::CrossEntropy found;
    {
      const Serving serving(mutex_);
      found = model_.learn(
          batch, weight.value_or(1 / static_cast<double>(std::max<std::int64_t>(1, counted))), seed);
    }
    return nb::make_tuple(found.loss, found.counted, found.right);
  }

  // Of one token of the first sequence, (vocabulary).
  nb::object logits(const Ids& ids, std::int64_t row, const std::optional<Ids>& source) {
    const train::Batch batch = batch_from(ids, {}, source, {}, {});
    if (row < 0 || row >= batch.tokens.length)
      refuse_value("row is ", row, ", and there are ", batch.tokens.length, " tokens");
    attend::Tensor found;
    {
      const Serving serving(mutex_);
      found = model_.logits(batch, row);
    }
    return numpy_of(std::move(found), 1);
  }

  // (layers, heads, rows, columns) of one sequence.
  nb::object attention(const Ids& ids, const std::optional<Ids>& source, const std::string& which_name) {
    const Which which = which_from(which_name);
    const train::Batch batch = batch_from(ids, {}, source, {}, {});
    if (batch.tokens.count != 1) refuse_value("attention: expected one sequence, not ", batch.tokens.count);
    std::vector<attend::Tensor> layers;
    {
      const Serving serving(mutex_);
      model_.evaluate(batch, [&](const train::LayerAttention& seen) {
        if (seen.which != which) return;
        layers.push_back(attend::attention_rows(seen.moment.q, seen.moment.k, seen.moment.options,
                                                attend::Stage::weights, {}, seen.moment.row_state));
      });
    }
    if (layers.empty()) refuse_value("this model has no attention of the kind ", which_name);
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

  // Step number `step`; the norm of the gradient, which is used up.
  double adamw_step(const train::AdamWOptions& options, double rate, std::int64_t step) {
    const Serving serving(mutex_);
    train::Parameters& parameters = model_.parameters();
    const double norm = train::gradient_norm(parameters);
    if (!std::isfinite(norm)) {
      throw std::runtime_error("the gradient is no longer a number; the parameters stay as they were");
    }
    train::adamw_step(parameters, options, rate, step, norm);
    parameters.clear_gradients();
    return norm;
  }

  // start: the token that a target begins behind, of a model that has one.
  void save(const std::filesystem::path& folder, const std::string& tokenizer_json,
            std::optional<std::int32_t> start) {
    const Serving serving(mutex_);
    std::filesystem::create_directories(folder);
    attend::learn::save_model_folder(folder, model_, tokenizer_json, start);
  }

 private:
  static train::ModelShape shape_from(const ConfigCore& config, const std::string& kind,
                                      std::int64_t vocabulary, std::int64_t length) {
    train::ModelShape shape = config.config.model;
    shape.kind = kind_from(kind);
    shape.vocabulary = vocabulary;
    shape.length = length;
    return shape;
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
      .def(nb::init<const ConfigCore&, const std::string&, std::int64_t, std::int64_t, std::int64_t,
                    nb::handle, nb::handle>(),
           arg("config"), arg("kind"), arg("vocabulary"), arg("length"), arg("batch"), arg("dtype"),
           arg("seed"),
           nb::sig("def __init__(self, config: ConfigCore, kind: str, vocabulary: int, length: int, batch: "
                   "int, dtype: DType, seed: int) -> None"))
      .def("evaluate", &Model::evaluate, arg("ids"), arg("targets"), arg("lengths"), maybe("source"),
           arg("source_lengths"),
           nb::sig("def evaluate(self, ids: " ATTEND_IDS ", targets: " ATTEND_IDS
                   ", lengths: list[int], source: " ATTEND_IDS
                   " | None, source_lengths: list[int]) -> tuple[float, int, int]"))
      .def("learn", &Model::learn, arg("ids"), arg("targets"), arg("lengths"), maybe("source"),
           arg("source_lengths"), maybe("weight"), arg("seed"),
           nb::sig("def learn(self, ids: " ATTEND_IDS ", targets: " ATTEND_IDS
                   ", lengths: list[int], source: " ATTEND_IDS
                   " | None, source_lengths: list[int], weight: float | None, seed: int) -> tuple[float, "
                   "int, int]"))
      .def("logits", &Model::logits, arg("ids"), arg("row"), maybe("source"),
           nb::sig("def logits(self, ids: " ATTEND_IDS ", row: int, source: " ATTEND_IDS
                   " | None) -> numpy.typing.NDArray[typing.Any]"))
      .def("attention", &Model::attention, arg("ids"), maybe("source"), arg("which"),
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
          [](Model& self, double rate, double beta1, double beta2, double epsilon, double decay, double clip,
             std::int64_t step) {
            return self.adamw_step({beta1, beta2, epsilon, decay, clip}, rate, step);
          },
          arg("rate"), arg("beta1"), arg("beta2"), arg("epsilon"), arg("decay"), arg("clip"), arg("step"))
      .def(
          "save", &Model::save, arg("folder"), arg("tokenizer_json"), maybe("start"),
          nb::sig("def save(self, folder: str | os.PathLike[str], tokenizer_json: str, start: int | None) -> "
                  "None"));
#undef ATTEND_IDS
  module.def("train_word_tokenizer", &attend::learn::word_tokenizer, arg("words"), arg("start") = "");
  module.def(
      "train_rate",
      [](std::int64_t step, double peak, double floor, std::int64_t warmup, std::int64_t steps) {
        return train::Schedule{peak, floor, warmup, steps}.rate(step);
      },
      arg("step"), arg("peak"), arg("floor"), arg("warmup"), arg("steps"));
}

}  // namespace attend_python
