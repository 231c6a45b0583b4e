#include "learn/training_state.h"

#include <attend/save.h>

#include <charconv>
#include <limits>

#include "base/error.h"
#include "io/fail.h"

namespace attend::learn {
namespace {

constexpr const char* kStateFormat = "attend training 1";
constexpr const char* kWatched = "film.tokens";
constexpr std::int64_t kMostWatched = 1 << 16;  // tokens; a film of more has no room

std::string frame_name(std::int64_t step) { return "film." + std::to_string(step); }

// Each name with which a state keeps a part of a parameter, and where that is.
using StatePart = TensorView (train::Parameters::*)(int);
constexpr std::pair<const char*, StatePart> kStateParts[] = {{"value.", &train::Parameters::value},
                                                             {"first.", &train::Parameters::first_moment},
                                                             {"second.", &train::Parameters::second_moment}};

}  // namespace

void save_state(const std::filesystem::path& file, train::Model& model, const Config& config,
                std::int64_t step, const std::vector<Origin>& origins, const Film* film) {
  train::Parameters& parameters = model.parameters();
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < parameters.count(); ++i) {
    for (const auto& [name, part] : kStateParts)
      tensors.push_back({name + parameters[i].name, (parameters.*part)(i)});
  }
  std::vector<std::int64_t> tokens;
  if (film != nullptr) {
    for (const Film::Frame& frame : film->frames()) {
      tensors.push_back({frame_name(frame.step), ConstTensorView(frame.maps.data(), film->frame_shape())});
    }
    const std::vector<std::int32_t>& ids = film->example().batch.tokens.ids;
    tokens.assign(ids.begin(), ids.end());
    if (film->watched()) {
      tensors.push_back(
          {kWatched, ConstTensorView(tokens.data(), {static_cast<std::int64_t>(tokens.size())})});
    }
  }
  std::map<std::string, std::string> metadata{
      {"format", kStateFormat}, {"step", std::to_string(step)}, {"config", to_json(config)}};
  for (const Origin& origin : origins) metadata["origin." + origin.what] = std::to_string(origin.fingerprint);
  save_safetensors(file, tensors, metadata);
}

StoredState::StoredState(const std::filesystem::path& file)
    : file_(file.string()), checkpoint_(Checkpoint::open(file)), metadata_(checkpoint_.metadata()) {
  if (metadata_["format"] != kStateFormat) wrong("", "is not the state of a training that attend wrote");
  config_ = parse_config(metadata_["config"], file_);
  const std::string& text = metadata_["step"];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step_);
  if (error != std::errc() || end != text.data() + text.size() || step_ < 0) {
    wrong("step", joined('"', io::shown(text), "\" is not a number of steps"));
  }
  if (step_ > config_.schedule.steps) {
    wrong("step", joined(step_, " is more than the ", config_.schedule.steps, " steps of its configuration"));
  }
}

void StoredState::wrong(const std::string& where, const std::string& rule) const {
  throw FileError(file_, where, rule);
}

ConstTensorView StoredState::tensor(const std::string& name, const Dims& shape) const {
  const ConstTensorView found = checkpoint_.tensor(name, shape);
  if (found.dtype() == DType::f32) return found;
  wrong(name, joined("is of the type ", name_of(found.dtype()), ", expected ", name_of(DType::f32)));
}

void StoredState::require_origins(const std::vector<Origin>& origins) const {
  for (const Origin& origin : origins) {
    const auto known = metadata_.find("origin." + origin.what);
    if (known != metadata_.end() && known->second == std::to_string(origin.fingerprint)) continue;
    wrong("", joined("the ", origin.what, " ", origin.name,
                     " has changed since the training began, so it cannot be resumed"));
  }
}

void StoredState::require_shapes(const train::Parameters& parameters) const {
  for (int i = 0; i < parameters.count(); ++i) {
    for (const auto& [part, unused] : kStateParts) {
      tensor(part + parameters[i].name, parameters[i].shape);
    }
  }
}

void StoredState::fill(train::Model& model) const {
  train::Parameters& parameters = model.parameters();
  for (int i = 0; i < parameters.count(); ++i) {
    for (const auto& [name, part] : kStateParts) {
      copy(tensor(name + parameters[i].name, parameters[i].shape), (parameters.*part)(i));
    }
  }
  checkpoint_.require_intact();
}

std::optional<std::vector<std::int32_t>> StoredState::watched() const {
  if (!checkpoint_.contains(kWatched)) return {};
  const ConstTensorView tokens = checkpoint_.tensor(kWatched);
  if (tokens.rank() != 1 || tokens.dtype() != DType::i64 || tokens.count() > kMostWatched) {
    wrong(kWatched, "does not hold the tokens of a text");
  }
  std::vector<std::int32_t> ids;
  for (const std::int64_t id :
       std::span(tokens.data<std::int64_t>(), static_cast<std::size_t>(tokens.count()))) {
    if (id < 0 || id > std::numeric_limits<std::int32_t>::max())
      wrong(kWatched, joined(id, " is not a token"));
    ids.push_back(static_cast<std::int32_t>(id));
  }
  checkpoint_.require_intact();
  return ids;
}

void StoredState::fill(Film& film) const {
  for (const std::int64_t step : snapshot_steps(config_.schedule.steps)) {
    if (step > step_ || !checkpoint_.contains(frame_name(step))) continue;
    const ConstTensorView maps = tensor(frame_name(step), film.frame_shape());
    film.put({step, {maps.data<float>(), maps.data<float>() + maps.count()}});
  }
  checkpoint_.require_intact();
}

}  // namespace attend::learn
