// attend train it: Wq and Wk fitted until "it" finds "animal".
#pragma once

#include <filesystem>

#include "draw/terminal.h"
#include "learn/config.h"

namespace attend::app {

// Shows the map before and after, and writes into a new or empty folder: lesson.json, which `attend steps`
// reads, and it.svg.
void run_train_it(const learn::Config& config, const std::filesystem::path& folder,
                  const draw::Terminal& terminal);

}  // namespace attend::app
