// What a model's folder says about writing.
#pragma once

#include <attend/generation.h>

#include <optional>
#include <string>
#include <string_view>

namespace attend::model {

// Throws FileError for files that say what has no meaning.
GenerationDefaults read_generation_defaults(const TextModel& model);

// The source of the chat template, and the file that errors name; nothing where the model has none.
struct TemplateSource {
  std::string file, text;
};
std::optional<TemplateSource> read_chat_template(const ModelFiles& files);

}  // namespace attend::model
