#include "learn/trainer.h"

#include <attend/attention.h>
#include <attend/file_error.h>
#include <attend/tokenizer.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/random.h"
#include "learn/model_folder.h"
#include "learn/training_state.h"

namespace attend::learn {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr const char* kMetricsFile = "metrics.jsonl";
constexpr std::uint64_t kDropoutStream = 7;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_snapshot(std::int64_t step, std::int64_t steps) {
  for (std::int64_t part = 32; part >= 1; part /= 2) {
    if (step == std::max<std::int64_t>(1, steps / part)) return true;
  }
  return step == 0;
}

}  // namespace

void prepare_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw FileError(folder.string(), "", "cannot be made: " + error.message());
  if (!fs::is_empty(folder, error) || error) {
    throw FileError(folder.string(), "",
                    "is not empty; resume the training that was saved there, or name another folder");
  }
}

Trainer::Trainer(const Config& config, const fs::path& folder)
    : config_(config), folder_(folder), task_(make_task(config)) {
  task_->shape(config_.model);
  model_ = std::make_unique<train::Model>(config_.model,
                                          train::BatchLimits{.sequences = task_->sequences(config_.batch)});
}

Trainer Trainer::start(const Config& config, const fs::path& folder) {
  Trainer trainer(config, folder);
  prepare_folder(folder);
  trainer.starts_trained_ = trainer.task_->fill(*trainer.model_);
  if (!trainer.starts_trained_)
    trainer.model_->parameters().initialise(static_cast<std::uint64_t>(config.seed));
  return trainer;
}

Trainer Trainer::resume(const fs::path& folder) {
  const fs::path state = folder / kStateFile;
  Config config = read_state_config(state);
  config.stop_after = 0;
  Trainer trainer(config, folder);
  require_origins(state, trainer.task_->origins());
  trainer.step_ = trainer.saved_ = load_state(state, *trainer.model_);
  trainer.read_metrics();
  return trainer;
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
                                   : std::string("; nothing was saved yet");
    throw std::runtime_error(
        joined("the loss is no longer a number at step ", next, where, "; a lower training.rate may help"));
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
  if (step_ == 0 && watching.snapshot) watching.snapshot(0);
  if (starts_trained_ && evaluations_.empty()) look(watching);
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
    losses_.emplace_back(step_, loss);
    note(Json{{"step", step_},
              {"loss", loss},
              {"rate", rate_},
              {"norm", norm_},
              {"tokens_per_second", std::round(report.tokens_per_second)}}
             .dump());
    if (watching.step) watching.step(report);
    if (step_ % config_.evaluate == 0 || step_ == steps) {
      look(watching);
    }
    if (watching.snapshot && is_snapshot(step_, steps)) watching.snapshot(step_);
    if (step_ % config_.save == 0) save();
  }
  if (saved_ != step_) save();
}

Evaluation Trainer::evaluate() { return {task_->measure(*model_), step_}; }

void Trainer::look(const Watching& watching) {
  const Evaluation found = evaluate();
  evaluations_.push_back(found);
  Json line{{"step", step_}, {"validation_loss", found.loss}};
  if (!std::isnan(found.accuracy)) line["accuracy"] = found.accuracy;
  for (const Measure& measure : found.more) line[measure.key] = measure.value;
  note(line.dump());
  if (watching.evaluation) watching.evaluation(found);
}

std::vector<ExampleMap> Trainer::maps(const Example& example) {
  std::vector<ExampleMap> all;
  model_->evaluate(example.batch, [&](const train::LayerAttention& seen) {
    if (seen.which != example.which) return;
    const Tensor weights =
        attention_rows(seen.moment.q, seen.moment.k, seen.moment.options, Stage::weights, {},
                       seen.moment.row_state);  // (1, H, rows, columns)
    const std::int64_t rows = weights.size(2), columns = weights.size(3);
    for (std::int64_t head = 0; head < weights.size(1); ++head) {
      const float* const from = weights.values<float>().data() + head * rows * columns;
      ExampleMap map{.layer = seen.layer, .head = head, .weights = {from, from + rows * columns}};
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

Example Trainer::example_of(const std::string& text) const {
  constexpr const char* kOperation = "watch";
  const train::ModelShape& shape = model_->shape();
  if (shape.mixer == train::MixerKind::gru) refuse(kOperation, "a GRU has no attention to be watched");
  if (shape.kind == train::ModelKind::encoder_decoder) {
    refuse(kOperation, "a model with an encoder and a decoder reads two sequences, not one text");
  }
  const Tokenizer tokenizer = task_->tokenizer();
  const std::vector<std::int32_t> ids = task_->encode(text, tokenizer).ids;
  const auto size = static_cast<std::int64_t>(ids.size());
  if (size < 1 || size > shape.length) {
    refuse(kOperation, "the text has ", size, " tokens, expected 1 to ", shape.length);
  }
  Example example{.batch = {.tokens = {.count = 1, .length = size, .ids = ids}}};
  example.batch.targets.assign(ids.size(), kNoTarget);
  for (const std::int32_t id : ids) example.row_labels.push_back(tokenizer.decode(std::array{id}, false));
  example.column_labels = example.row_labels;
  example.answers.assign(ids.size(), -1);
  return example;
}

// The model first: whatever happens in between, each file is whole, and the state is the one that a run goes
// on from.
void Trainer::save() {
  task_->save(folder_, *model_);
  write_file(folder_ / kMetricsFile, metrics_);
  save_state(folder_ / kStateFile, *model_, config_, step_, task_->origins());
  saved_ = step_;
}

// Lines up to the step of the state; what is no line of ours is left out.
void Trainer::read_metrics() {
  std::ifstream file(folder_ / kMetricsFile);
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) continue;
    const auto at = json["step"].get<std::int64_t>();
    const auto number = [&](const char* key) {
      return json.contains(key) && json[key].is_number() ? json[key].get<double>() : std::nan("");
    };
    if (at > step_) continue;
    note(line);
    if (json.contains("validation_loss")) {
      Evaluation found{{.loss = number("validation_loss"), .accuracy = number("accuracy")}, at};
      for (const auto& [key, value] : json.items()) {
        const bool other = key != "step" && key != "validation_loss" && key != "accuracy";
        if (other && value.is_number()) found.more.push_back({key, value.get<double>()});
      }
      evaluations_.push_back(std::move(found));
    } else {
      losses_.emplace_back(at, number("loss"));
    }
  }
}

}  // namespace attend::learn
