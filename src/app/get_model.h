// Models that come from elsewhere.
#pragma once

#include <attend/text_model.h>

#include <filesystem>
#include <string>

namespace attend::app {

// Downloads a model from the hub, or, if it is one that attend knows by name, from where it can be had; shows
// how far it is. Returns its folder. Throws FileError.
std::filesystem::path get_model(const std::string& name);

// Downloads what `-m` names, after saying so, if it is one of the default models and this machine does not
// have it. Throws FileError.
void get_default_model(const std::string& name);

// The same, then loads it.
TextModel open_model(const std::string& name, const ModelOptions& options = {});

}  // namespace attend::app
