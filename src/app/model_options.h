// Shared by the commands that read text with a model.
#pragma once

#include <attend/lens.h>
#include <attend/text_model.h>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace attend::app {

// -m, --model
void add_model_option(CLI::App& command, std::string& model);

// --precision
void add_precision_option(CLI::App& command, ModelOptions& options);

// --sink: a name that sink_choice_named() reads.
void add_sink_option(CLI::App& command, std::string& sink);

// Whether the TEXT of a command names the recording of a pass, run.attn, which needs no model; and then
// throws UsageError where one is given.
bool is_recording(const std::string& text);
void require_no_model(const std::string& model, const ModelOptions& options, const std::string& recording);

// Throws UsageError for a layer or a head that the model does not have.
void require_layer(const TextModel& model, std::optional<std::int64_t> layer,
                   std::optional<std::int64_t> head);
void require_layer(const Reading& reading, std::optional<std::int64_t> layer,
                   std::optional<std::int64_t> head);

// Throws UsageError for a number of tokens that leaves no room for text, or that the model has no positions
// for.
void require_max_tokens(const TextModel& model, std::optional<std::int64_t> given);

// Warns on standard error when the text was longer than the model reads, with a hint after that, and when
// numbers of the pass are NaN or infinite: where that began, and which weights are not finite.
void warn_of_truncation(const Reading& reading, const std::string& hint = {});
void warn_of_not_finite(const Reading& reading);

}  // namespace attend::app
