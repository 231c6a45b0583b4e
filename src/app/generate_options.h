// What `attend generate` and `attend chat` share: the options of sampling, and a text written as it comes.
#pragma once

#include <attend/generation.h>

#include <functional>
#include <string>
#include <vector>

#include "app/command.h"

namespace attend::app {

// --temperature, --top-k, --top-p, --min-p, the penalties, --seed, --stop and --max-tokens.
void add_generation_options(CLI::App& command, GenerateOptions& options);
void check_generation_options(const GenerateOptions& options);

// --cache-type.
void add_cache_option(CLI::App& command, CacheType& type);

// Says what the model's generation_config.json asks for and does not get.
void warn_of_left_out(const Generator& generator);

// Ctrl-C before the first token: nothing is there.
struct Interrupted {};

// Runs a generation whose pieces go to standard output as they come; Ctrl-C ends it with what is there.
// Throws Interrupted.
Generated write_while_generating(GenerateOptions options, bool shows,
                                 const std::function<Generated(const GenerateOptions&)>& generate);

}  // namespace attend::app
