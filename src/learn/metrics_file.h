// metrics.jsonl: a line of JSON for each step, and one for each evaluation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "learn/task.h"

namespace attend::learn {

struct Evaluation : Measured {
  std::int64_t step = 0;
};

struct Metrics {
  std::string text{};  // the lines
  std::vector<std::pair<std::int64_t, double>> losses{};
  std::vector<Evaluation> evaluations{};

  void add_step(std::int64_t step, double loss, double rate, double norm, double tokens_per_second);
  void add(const Evaluation& found);
};

// The lines up to a step; what is not a line that attend writes is left out.
Metrics parse_metrics(std::string_view text, std::int64_t last_step);

// The same of a file, or nothing where there is none. Throws FileError for what is not a file, cannot be read
// or has more than 1 GiB.
Metrics read_metrics(const std::filesystem::path& folder, const std::filesystem::path& name,
                     std::int64_t last_step);

}  // namespace attend::learn
