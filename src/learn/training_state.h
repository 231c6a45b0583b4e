// Where a training stands, in one file: so it is always that of one moment, whenever the program ends.
#pragma once

#include <cstdint>
#include <filesystem>

#include "learn/config.h"
#include "learn/task.h"
#include "train/model.h"

namespace attend::learn {

inline constexpr const char* kStateFile = "training.safetensors";

// The parameters, the two moments of each, the number of steps that were made, the configuration, and by what
// to know again what the training began with. Written whole or not at all. Throws FileError.
void save_state(const std::filesystem::path& file, train::Model& model, const Config& config,
                std::int64_t step, const std::vector<Origin>& origins = {});

// The configuration of a state.
Config read_state_config(const std::filesystem::path& file);

// Throws FileError where one of these is not what the training began with.
void require_origins(const std::filesystem::path& file, const std::vector<Origin>& origins);

// Fills the model; the number of steps that were made. Throws FileError for a file that is not a state, or
// is that of another model.
std::int64_t load_state(const std::filesystem::path& file, train::Model& model);

}  // namespace attend::learn
