// What commands that read text with a model share.
#pragma once

#include <attend/lens.h>
#include <attend/text_model.h>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace attend::app {

// -m, --model
void add_model_option(CLI::App& command, std::string& model);

// Throws UsageError for a layer or a head (from 1) that the model does not have.
void require_layer(const TextModel& model, std::optional<std::int64_t> layer,
                   std::optional<std::int64_t> head);

// On standard error, when the text was longer than the model reads.
void tell_what_was_cut(const Reading& reading);

}  // namespace attend::app
