// A training run: its steps, its evaluations from time to time, and its state on disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learn/config.h"
#include "learn/film.h"
#include "learn/metrics_file.h"
#include "learn/task.h"
#include "train/model.h"

namespace attend::learn {

struct StepReport {
  std::int64_t step = 0, steps = 0;
  double loss = 0;  // the mean over what is guessed or compared
  double rate = 0, norm = 0;
  double tokens_per_second = 0, seconds_left = 0;
};

struct Watching {
  std::function<void(const StepReport&)> step;
  std::function<void(const Evaluation&)> evaluation;
  std::function<void(std::int64_t step)>
      snapshot;                             // at each of snapshot_steps(), when the film has its frame
  const std::atomic<bool>* stop = nullptr;  // set by a signal
};

class Trainer {
 public:
  // Starts in an empty folder, or resumes where there is a state. What does not fit into memory, or does not
  // belong together, is refused before any large allocation. Throws ConfigError, FileError.
  static Trainer start(const Config& config, const std::filesystem::path& folder);
  static Trainer resume(const std::filesystem::path& folder);
  Trainer(Trainer&&) = default;

  // To the last step, or until `stop`; then the state is saved. Throws std::runtime_error, and saves nothing
  // more, when the loss is no longer finite.
  void run(const Watching& watching);

  // The model and the state, into the folder. Throws FileError.
  void save();

  Evaluation evaluate();
  // The attention of every head of every layer, as it is now.
  std::vector<ExampleMap> maps(const Example& example);
  // A text of the task's words as an example without answers. Throws std::invalid_argument where it does not
  // fit the model.
  Example example_of(const std::string& text) const;

  // The film that run() takes and save() keeps: of the task's example, where there is one that fits and there
  // is attention to see; or, after watch(), of that text. Watching the same text again changes nothing.
  const std::optional<Film>& film() const noexcept { return film_; }
  void watch(const std::string& text);
  bool finished() const noexcept { return step_ == config_.schedule.steps; }

  const std::filesystem::path& folder() const noexcept { return folder_; }
  const Config& config() const noexcept { return config_; }
  const Task& task() const noexcept { return *task_; }
  train::Model& model() noexcept { return *model_; }
  std::int64_t step() const noexcept { return step_; }
  // Since step 1, or 0 where a trained model goes on learning; resumed runs included.
  const std::vector<Evaluation>& evaluations() const noexcept { return metrics_.evaluations; }
  const std::vector<std::pair<std::int64_t, double>>& losses() const noexcept { return metrics_.losses; }

 private:
  // With a model that has no memory yet.
  Trainer(const Config& config, const std::filesystem::path& folder);
  std::string why_unwatchable(const std::vector<std::int32_t>& ids) const;  // empty: it can be watched
  Example example_of(const std::vector<std::int32_t>& ids) const;
  void film_the_example();
  double take_step();
  void look(const Watching& watching);  // evaluates, and notes it
  void snapshot(const Watching& watching);

  Config config_;
  std::filesystem::path folder_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<train::Model> model_;
  std::int64_t step_ = 0, saved_ = -1;
  double rate_ = 0, norm_ = 0;
  std::int64_t tokens_ = 0;
  bool starts_trained_ = false;
  Metrics metrics_;
  std::optional<Film> film_;
};

}  // namespace attend::learn
