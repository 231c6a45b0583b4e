// RunCore: a training that Python starts and watches, behind attend.train.Run.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings.h"
#include "errors.h"
#include "figure.h"
#include "learn/run_figures.h"
#include "learn/trainer.h"
#include "numbers.h"
#include "paths.h"
#include "results.h"
#include "train.h"

namespace attend_python {
namespace {

namespace nb = nanobind;
namespace learn = attend::learn;

nb::list labels_from(const std::vector<std::string>& labels) {
  nb::list list;
  for (const std::string& label : labels) list.append(text_from(label));
  return list;
}

nb::tuple evaluation_from(const learn::Evaluation& found) {
  nb::dict more;
  for (const learn::Measure& measure : found.more) more[measure.key.c_str()] = measure.value;
  return nb::make_tuple(found.step, found.loss, found.accuracy, more);
}

class Run {
 public:
  explicit Run(learn::Trainer trainer) : trainer_(std::move(trainer)) {}

  static std::unique_ptr<Run> start(const ConfigCore& config, nb::handle folder_given) {
    const std::filesystem::path folder = path_from(folder_given, "folder");
    const Computing computing;
    return std::make_unique<Run>(learn::Trainer::start(config.config, folder));
  }
  static std::unique_ptr<Run> resume(nb::handle folder_given) {
    const std::filesystem::path folder = path_from(folder_given, "folder");
    const Computing computing;
    return std::make_unique<Run>(learn::Trainer::resume(folder));
  }

  // Each of the three is called with the fields of its report, and stops the run by returning False. What one
  // raises is raised again when the state is saved; so is a KeyboardInterrupt.
  void fit(nb::handle on_step, nb::handle on_evaluation, nb::handle on_snapshot, nb::handle steps_given,
           nb::handle watch_given) {
    if (fitting_) refuse_value("fit: this run is in a fit already");
    std::optional<std::int64_t> steps;
    if (!steps_given.is_none()) steps = integer_from(steps_given, "steps", 1);
    if (!watch_given.is_none()) {
      const std::string watch = name_from(watch_given, "watch");
      const Serving serving(mutex_);
      trainer_.watch(watch);
    }
    fitting_ = true;
    const auto done = std::unique_ptr<bool, void (*)(bool*)>(&fitting_, [](bool* flag) { *flag = false; });

    std::atomic<bool> stop{false};
    std::exception_ptr raised;  // before `serving`, so that it goes when the GIL is back
    std::optional<Serving> serving;
    serving.emplace(mutex_);
    const auto ask_python = [&](const auto& call) {
      if (raised) return;
      serving.reset();
      try {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (nb::object(call()).is(nb::bool_(false))) stop = true;
      } catch (...) {
        raised = std::current_exception();
        stop = true;
      }
      serving.emplace(mutex_);
    };
    const std::int64_t first = trainer_.step();
    trainer_.run({.step =
                      [&](const learn::StepReport& report) {
                        if (steps && report.step - first >= *steps) stop = true;
                        ask_python([&] {
                          return on_step(report.step, report.steps, report.loss, report.rate, report.norm,
                                         report.tokens_per_second, report.seconds_left);
                        });
                      },
                  .evaluation =
                      [&](const learn::Evaluation& found) {
                        ask_python([&] { return on_evaluation(*evaluation_from(found)); });
                      },
                  .snapshot = [&](std::int64_t step) { ask_python([&] { return on_snapshot(step); }); },
                  .stop = &stop});
    serving.reset();
    if (raised) std::rethrow_exception(raised);
  }

  nb::tuple evaluate() {
    learn::Evaluation found;
    {
      const Serving serving(mutex_, Signals::handled);
      found = trainer_.evaluate();
    }
    return evaluation_from(found);
  }

  void save() {
    const Serving serving(mutex_);
    trainer_.save();
  }

  // (weights, row labels, column labels, answers, weight on answers): of a text, or of the task's example.
  nb::tuple maps(nb::handle text_given) {
    std::optional<std::string> text;
    if (!text_given.is_none()) text = name_from(text_given, "text");
    learn::Example example;
    std::vector<learn::ExampleMap> maps;
    {
      const Serving serving(mutex_, Signals::handled);
      example = text ? trainer_.example_of(*text) : own_example();
      maps = trainer_.maps(example);
    }
    const std::int64_t layers = maps.back().layer, heads = maps.back().head;
    const auto rows = static_cast<std::int64_t>(example.row_labels.size()),
               columns = static_cast<std::int64_t>(example.column_labels.size());
    attend::Tensor weights(attend::DType::f64, {layers, heads, rows, columns});
    attend::Tensor on_answers(attend::DType::f64, {layers, heads});
    double* to = weights.values<double>().data();
    double* answered = on_answers.values<double>().data();
    for (const learn::ExampleMap& map : maps) {
      to = std::copy(map.weights.begin(), map.weights.end(), to);
      *answered++ = map.on_answers;
    }
    attend::Tensor answers(attend::DType::i64, {rows});
    std::copy(example.answers.begin(), example.answers.end(), answers.values<std::int64_t>().begin());
    return nb::make_tuple(numpy_of(std::move(weights)), labels_from(example.row_labels),
                          labels_from(example.column_labels), numpy_of(std::move(answers)),
                          numpy_of(std::move(on_answers)));
  }

  FigureCore figure(nb::handle kind_given) {
    const std::string kind = name_from(kind_given, "kind");
    FigureCore core;
    const Serving serving(mutex_);
    if (kind == "loss") {
      if (trainer_.losses().empty()) attend::refuse("figure", "no step was made yet");
      core.figure.parts.push_back(learn::loss_plot(trainer_));
      return core;
    }
    if (kind != "attention" && kind != "film") {
      attend::refuse("figure", "kind is \"", kind, "\", expected loss, attention or film");
    }
    learn::Film film = film_of_now();
    if (kind == "film") {
      core.figure.parts.push_back(film.strip());
    } else {
      core.figure.parts.push_back(film.last());
    }
    return core;
  }

  nb::list losses() {
    std::vector<std::pair<std::int64_t, double>> losses;
    {
      const Serving serving(mutex_);
      losses = trainer_.losses();
    }
    nb::list list;
    for (const auto& [step, loss] : losses) list.append(nb::make_tuple(step, loss));
    return list;
  }
  nb::list evaluations() {
    std::vector<learn::Evaluation> evaluations;
    {
      const Serving serving(mutex_);
      evaluations = trainer_.evaluations();
    }
    nb::list list;
    for (const learn::Evaluation& found : evaluations) list.append(evaluation_from(found));
    return list;
  }

  std::int64_t step() {
    const Serving serving(mutex_);
    return trainer_.step();
  }
  nb::dict parameters() {
    return copies_of(trainer_.model().parameters(), &attend::train::Parameters::value, mutex_);
  }
  void load(const nb::dict& values) { load_parameters(trainer_.model().parameters(), values, mutex_); }

  ConfigCore config() const { return {trainer_.config()}; }
  const std::filesystem::path& folder() const { return trainer_.folder(); }

 private:
  learn::Film film_of_now() {
    if (!trainer_.film()) {
      const learn::Example example = own_example();
      attend::refuse("figure", "the example has ", example.row_labels.size(),
                     " tokens, too many for the maps of a film");
    }
    learn::Film film = *trainer_.film();
    if (film.last_step() != trainer_.step()) film.take(trainer_.step(), trainer_.maps(film.example()));
    return film;
  }

  learn::Example own_example() const {
    if (trainer_.config().model.mixer == attend::model::MixerKind::gru)
      attend::refuse("watch", "a GRU has no attention to watch");
    if (auto example = trainer_.task().example()) return std::move(*example);
    attend::refuse("watch", "the task ", trainer_.config().task,
                   " has no example of its own; name a text to watch");
  }

  learn::Trainer trainer_;
  std::mutex mutex_;      // of the trainer
  bool fitting_ = false;  // looked at with the GIL held
};

}  // namespace

void bind_train_run(nb::module_& module) {
  nb::class_<Run>(module, "RunCore", "A training, behind attend.train.Run.")
      .def_static("start", &Run::start, nb::arg("config"), nb::arg("folder").none(),
                  nb::sig("def start(config: ConfigCore, folder: str | os.PathLike[str]) -> RunCore"))
      .def_static("resume", &Run::resume, nb::arg("folder").none(),
                  nb::sig("def resume(folder: str | os.PathLike[str]) -> RunCore"))
      .def("fit", &Run::fit, nb::arg("on_step"), nb::arg("on_evaluation"), nb::arg("on_snapshot"),
           nb::arg("steps").none(), nb::arg("watch").none(),
           nb::sig("def fit(self, on_step: collections.abc.Callable[[int, int, float, float, float, float, "
                   "float], bool], on_evaluation: collections.abc.Callable[[int, float, float, dict[str, "
                   "float]], bool], "
                   "on_snapshot: collections.abc.Callable[[int], bool], steps: int | None, watch: str | "
                   "None) -> None"))
      .def("evaluate", &Run::evaluate,
           nb::sig("def evaluate(self) -> tuple[int, float, float, dict[str, float]]"))
      .def("save", &Run::save)
      .def("maps", &Run::maps, nb::arg("text").none(),
           nb::sig("def maps(self, text: str | None) -> tuple[numpy.typing.NDArray[numpy.float64], "
                   "list[str], list[str], numpy.typing.NDArray[numpy.int64], "
                   "numpy.typing.NDArray[numpy.float64]]"))
      .def("figure", &Run::figure, nb::arg("kind").none(),
           nb::sig("def figure(self, kind: str) -> FigureCore"))
      .def("losses", &Run::losses, nb::sig("def losses(self) -> list[tuple[int, float]]"))
      .def("evaluations", &Run::evaluations,
           nb::sig("def evaluations(self) -> list[tuple[int, float, float, dict[str, float]]]"))
      .def("step", &Run::step)
      .def("parameters", &Run::parameters,
           nb::sig("def parameters(self) -> dict[str, numpy.typing.NDArray[numpy.float32]]"))
      .def("load_parameters", &Run::load, nb::arg("values"),
           nb::sig("def load_parameters(self, values: dict[str, Array]) -> None"))
      .def("config", &Run::config)
      .def("folder", &Run::folder, nb::sig("def folder(self) -> pathlib.Path"));
}

}  // namespace attend_python
