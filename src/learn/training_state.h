// The state of a training in one file, so that all of it is from the same moment, whenever the program ends.
#pragma once

#include <attend/checkpoint.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "learn/config.h"
#include "learn/film.h"
#include "learn/task.h"
#include "train/model.h"

namespace attend::learn {

inline constexpr const char* kStateFile = "training.safetensors";

// The parameters, the two moments of each, the number of steps that were made, the configuration, the film so
// far, and fingerprints of what the training began with. Written whole or not at all. Throws FileError.
void save_state(const std::filesystem::path& file, train::Model& model, const Config& config,
                std::int64_t step, const std::vector<Origin>& origins = {}, const Film* film = nullptr);

// Such a file, whoever wrote it: what it claims is compared with what it holds before anything of that size
// is made. Every function throws FileError.
class StoredState {
 public:
  explicit StoredState(const std::filesystem::path& file);

  const Config& config() const noexcept { return config_; }
  std::int64_t step() const noexcept { return step_; }

  // Checks that the training began with these.
  void require_origins(const std::vector<Origin>& origins) const;
  // Checks that it holds each of these parameters, in its shape. They need no memory yet.
  void require_shapes(const train::Parameters& parameters) const;
  void fill(train::Model& model) const;

  // The tokens that the user chose to watch, if any.
  std::optional<std::vector<std::int32_t>> watched() const;
  // Adds the frames so far to a film that has none; states of older versions have none.
  void fill(Film& film) const;

 private:
  // A tensor of this shape, f32 like everything that attend writes.
  ConstTensorView tensor(const std::string& name, const Dims& shape) const;
  [[noreturn]] void wrong(const std::string& where, const std::string& rule) const;

  std::string file_;
  Checkpoint checkpoint_;
  std::map<std::string, std::string> metadata_;
  Config config_;
  std::int64_t step_ = 0;
};

}  // namespace attend::learn
