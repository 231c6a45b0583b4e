#include "learn/training_state.h"

#include <attend/checkpoint.h>
#include <attend/save.h>

#include <charconv>

#include "base/error.h"

namespace attend::learn {
namespace {

constexpr const char* kFormat = "attend training 1";

// Throws FileError when the file is something else.
std::map<std::string, std::string> state_metadata(const std::filesystem::path& file,
                                                  const Checkpoint& checkpoint) {
  std::map<std::string, std::string> metadata = checkpoint.metadata();
  if (metadata["format"] != kFormat) {
    throw FileError(file.string(), "", "is not the state of a training that attend wrote");
  }
  return metadata;
}

template <class Visit>
void each_tensor(train::Parameters& parameters, const Visit& visit) {
  for (int i = 0; i < parameters.count(); ++i) {
    const std::string& name = parameters[i].name;
    visit("value." + name, parameters.value(i));
    visit("first." + name, parameters.first_moment(i));
    visit("second." + name, parameters.second_moment(i));
  }
}

}  // namespace

void save_state(const std::filesystem::path& file, train::Model& model, const Config& config,
                std::int64_t step, const std::vector<Origin>& origins) {
  std::vector<NamedTensor> tensors;
  each_tensor(model.parameters(), [&](const std::string& name, TensorView tensor) {
    tensors.push_back({name, tensor});
  });
  std::map<std::string, std::string> metadata{
      {"format", kFormat}, {"step", std::to_string(step)}, {"config", to_json(config)}};
  for (const Origin& origin : origins) metadata["origin." + origin.what] = std::to_string(origin.fingerprint);
  save_safetensors(file, tensors, metadata);
}

Config read_state_config(const std::filesystem::path& file) {
  const std::string text = state_metadata(file, Checkpoint::open(file))["config"];
  return parse_config(text, file.string());
}

void require_origins(const std::filesystem::path& file, const std::vector<Origin>& origins) {
  std::map<std::string, std::string> metadata = state_metadata(file, Checkpoint::open(file));
  for (const Origin& origin : origins) {
    if (metadata["origin." + origin.what] == std::to_string(origin.fingerprint)) continue;
    throw FileError(file.string(), "",
                    joined("the training began with another ", origin.what, " than ", origin.name,
                           " is now, so it cannot go on to what it would have become"));
  }
}

std::int64_t load_state(const std::filesystem::path& file, train::Model& model) {
  const Checkpoint checkpoint = Checkpoint::open(file);
  const std::string text = state_metadata(file, checkpoint)["step"];
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc() || end != text.data() + text.size() || step < 0) {
    throw FileError(file.string(), "step", joined('"', text, "\" is not a number of steps"));
  }
  each_tensor(model.parameters(), [&](const std::string& name, TensorView tensor) {
    copy(checkpoint.tensor(name, tensor.shape()), tensor);
  });
  checkpoint.require_intact();
  return step;
}

}  // namespace attend::learn
