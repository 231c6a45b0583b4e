#include "learn/trainer.h"

#include <attend/attention.h>
#include <attend/file_error.h>
#include <attend/tokenizer.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "learn/memory_need.h"
#include "learn/model_folder.h"
#include "learn/run_folder.h"
#include "learn/training_state.h"

namespace attend::learn {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kMetricsFile = "metrics.jsonl";
constexpr std::uint64_t kDropoutStream = 7;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Trainer::Trainer(const Config& config, const fs::path& folder)
    : config_(config), folder_(folder), task_(make_task(config)) {
  task_->complete(config_.model);
  const train::TrainingOptions options{.sequences = task_->sequences(config_.batch),
                                       .dropout = config_.dropout,
                                       .recompute = config_.recompute,
                                       .guesses = task_->guesses(),
                                       .precision = config_.precision};
  require_sizes(config_, options);
  const ModelDescription description = task_->description(config_);
  require_memory(config_, description, options);
  model_ = std::make_unique<train::Model>(description, options, DType::f32, train::Model::Memory::later);
}

Trainer Trainer::start(const Config& config, const fs::path& folder) {
  Trainer trainer(config, folder);
  prepare_folder(folder);
  trainer.model_->allocate();
  trainer.starts_trained_ = trainer.task_->fill(*trainer.model_);
  if (!trainer.starts_trained_)
    trainer.model_->parameters().initialise(static_cast<std::uint64_t>(config.seed));
  trainer.film_the_example();
  return trainer;
}

Trainer Trainer::resume(const fs::path& folder) try {
  require_plain_files(folder, {kStateFile});
  const StoredState state(folder / kStateFile);
  Config config = state.config();
  config.stop_after = 0;
  Trainer trainer(config, folder);
  std::vector<fs::path> written = trainer.task_->files();
  for (const char* const name : {kMetricsFile, "loss.svg", "attention.svg", "film.svg"})
    written.emplace_back(name);
  require_plain_files(folder, written);
  state.require_origins(trainer.task_->origins());
  state.require_shapes(trainer.model_->parameters());
  trainer.metrics_ = read_metrics(folder, kMetricsFile, state.step());
  trainer.model_->allocate();
  state.fill(*trainer.model_);
  trainer.step_ = trainer.saved_ = state.step();
  if (const auto ids = state.watched()) {
    const std::string why_not = trainer.why_unwatchable(*ids);
    if (!why_not.empty()) throw FileError((folder / kStateFile).string(), "film.tokens", why_not);
    trainer.film_.emplace(trainer.example_of(*ids), trainer.model_->description(), true);
    if (!Film::fits(trainer.film_->example(), trainer.model_->description())) trainer.film_.reset();
  } else {
    trainer.film_the_example();
  }
  if (trainer.film_) state.fill(*trainer.film_);
  return trainer;
} catch (const ConfigError& error) {
  throw FileError((folder / kStateFile).string(), error.key, error.what());
}

void Trainer::film_the_example() {
  if (config_.model.mixer != model::MixerKind::attention) return;
  std::optional<Example> example = task_->example();
  if (example && Film::fits(*example, model_->description()))
    film_.emplace(std::move(*example), model_->description(), false);
}

void Trainer::watch(const std::string& text) {
  Example example = example_of(text);
  if (!Film::fits(example, model_->description())) {
    refuse("watch", "the text has ", example.row_labels.size(), " tokens, too many for the maps of a film");
  }
  if (film_ && film_->watched() && film_->example().batch.tokens.ids == example.batch.tokens.ids) return;
  film_.emplace(std::move(example), model_->description(), true);
}

// One step of all its batches; the mean loss before it.
double Trainer::take_step() {
  train::Parameters& parameters = model_->parameters();
  const std::int64_t next = step_ + 1;
  parameters.clear_gradients();
  const auto [loss, tokens] = task_->learn(
      *model_, {.first = static_cast<std::uint64_t>(step_ * config_.accumulate),
                .count = config_.accumulate,
                .dropout_seed = random_bits(static_cast<std::uint64_t>(config_.seed), kDropoutStream)});
  tokens_ = tokens;
  rate_ = config_.schedule.rate(next);
  norm_ = train::gradient_norm(parameters);
  if (!std::isfinite(loss) || !std::isfinite(norm_)) {
    std::string where = saved_ > 0 ? joined("; the state of step ", saved_, " is kept in ", folder_.string())
                                   : std::string("; nothing has been saved yet");
    throw std::runtime_error(
        joined("the loss is no longer finite at step ", next, where, "; a lower training.rate may help"));
  }
  train::adamw_step(parameters, config_.adamw, rate_, next, norm_);
  step_ = next;
  return loss;
}

void Trainer::run(const Watching& watching) {
  const std::int64_t first = step_, steps = config_.schedule.steps;
  const std::int64_t last = config_.stop_after > 0 ? std::min(steps, step_ + config_.stop_after) : steps;
  const auto stopped = [&] { return watching.stop != nullptr && watching.stop->load(); };
  Clock::time_point start = Clock::now();
  double learning = 0;
  std::int64_t tokens = 0;
  const std::vector<std::int64_t> snapshots = snapshot_steps(steps);
  if (step_ == 0) snapshot(watching);
  if (starts_trained_ && evaluations().empty()) look(watching);
  while (step_ < last && !stopped()) {
    start = Clock::now();
    const double loss = take_step();
    learning += seconds_since(start);
    tokens += tokens_;
    const double pace = learning / static_cast<double>(step_ - first);
    const StepReport report{.step = step_,
                            .steps = steps,
                            .loss = loss,
                            .rate = rate_,
                            .norm = norm_,
                            .tokens_per_second = static_cast<double>(tokens) / learning,
                            .seconds_left = pace * static_cast<double>(last - step_)};
    metrics_.add_step(step_, loss, rate_, norm_, report.tokens_per_second);
    if (watching.step) watching.step(report);
    if (step_ % config_.evaluate == 0 || step_ == steps) {
      look(watching);
    }
    if (std::find(snapshots.begin(), snapshots.end(), step_) != snapshots.end()) snapshot(watching);
    if (step_ % config_.save == 0) save();
  }
  if (saved_ != step_) save();
}

Evaluation Trainer::evaluate() { return {task_->measure(*model_), step_}; }

void Trainer::look(const Watching& watching) {
  const Evaluation found = evaluate();
  metrics_.add(found);
  if (watching.evaluation) watching.evaluation(found);
}

void Trainer::snapshot(const Watching& watching) {
  if (film_ && film_->last_step() < step_) film_->take(step_, maps(film_->example()));
  if (watching.snapshot) watching.snapshot(step_);
}

std::vector<ExampleMap> Trainer::maps(const Example& example) {
  std::vector<ExampleMap> all;
  std::int64_t layer = 0;  // among those of the example's kind
  model_->evaluate(example.batch, [&](const LayerMoment& seen) {
    if (model_->description().layer_kind(seen.layer) != example.kind) return;
    ++layer;
    const Tensor weights = attention_rows(seen.q, seen.k, seen.options, Stage::weights, {},
                                          seen.row_state);  // (1, H, rows, columns)
    const std::int64_t rows = weights.size(2), columns = weights.size(3);
    for (std::int64_t head = 1; head <= weights.size(1); ++head) {
      const float* const from = weights.values<float>().data() + (head - 1) * rows * columns;
      ExampleMap map{.layer = layer, .head = head, .weights = {from, from + rows * columns}};
      double sum = 0, asked = 0;
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t answer = example.answers[static_cast<std::size_t>(row)];
        if (answer < 0) continue;
        sum += static_cast<double>(from[row * columns + answer]);
        asked += 1;
      }
      map.on_answers = sum / std::max(1.0, asked);
      all.push_back(std::move(map));
    }
  });
  return all;
}

std::string Trainer::why_unwatchable(const std::vector<std::int32_t>& ids) const {
  const ModelDescription& description = model_->description();
  if (config_.model.mixer == model::MixerKind::gru) return "a GRU has no attention to watch";
  if (description.has_source()) {
    return "a model with an encoder and a decoder reads two sequences, not one text";
  }
  const auto size = static_cast<std::int64_t>(ids.size());
  if (size < 1 || size > description.max_tokens()) {
    return joined("the text has ", size, " tokens, expected 1 to ", description.max_tokens());
  }
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= description.vocabulary_size)
      return joined(id, " is not one of the model's ", description.vocabulary_size, " tokens");
  }
  return "";
}

Example Trainer::example_of(const std::string& text) const {
  const std::vector<std::int32_t> ids = task_->encode(text, task_->tokenizer()).ids;
  if (const std::string why_not = why_unwatchable(ids); !why_not.empty()) refuse("watch", why_not);
  return example_of(ids);
}

Example Trainer::example_of(const std::vector<std::int32_t>& ids) const {
  const Tokenizer tokenizer = task_->tokenizer();
  Example example{.batch = {.tokens = {.count = 1, .length = std::ssize(ids), .ids = ids}}};
  example.batch.targets.assign(ids.size(), kNoTarget);
  for (const std::int32_t id : ids) example.row_labels.push_back(tokenizer.decode(std::array{id}, false));
  example.column_labels = example.row_labels;
  example.answers.assign(ids.size(), -1);
  return example;
}

// The model first: whatever happens in between, each file is whole, and the state is the one that a run
// resumes from.
void Trainer::save() {
  task_->save(folder_, *model_);
  write_file(folder_ / kMetricsFile, metrics_.text);
  save_state(folder_ / kStateFile, *model_, config_, step_, task_->origins(), film_ ? &*film_ : nullptr);
  saved_ = step_;
}

}  // namespace attend::learn
