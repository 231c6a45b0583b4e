// The hub's cache, and the environment variables that are set.
#include <attend/model_files.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "doctor/sections.h"

extern "C" char** environ;

namespace attend::doctor {
namespace {

namespace fs = std::filesystem;

// The models of attend's own folder, ORG/NAME.
std::vector<std::string> own_models(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator organisation(folder, error), end; !error && organisation != end;
       organisation.increment(error)) {
    std::error_code inner;
    for (fs::directory_iterator model(organisation->path(), inner); !inner && model != end;
         model.increment(inner)) {
      if (model->is_directory(inner)) names.push_back(model->path().lexically_relative(folder).string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The models in the hub's cache, by their names on the hub.
std::vector<std::string> cached_models(const fs::path& cache) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(cache, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with("models--")) continue;
    name.erase(0, 8);
    if (const std::size_t cut = name.find("--"); cut != std::string::npos) name.replace(cut, 2, "/");
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Environment variables that affect attend and the hub's other tools. Of a secret only its presence is shown.
std::vector<std::pair<std::string, std::string>> variables() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view name = text.substr(0, equals);
    if (!name.starts_with("HF_") && !name.starts_with("ATTEND_") && name != "NO_COLOR" &&
        name != "XDG_CACHE_HOME")
      continue;
    const bool secret = name.find("TOKEN") != name.npos && !name.ends_with("_PATH");
    found.emplace_back(name, secret ? "(set, not shown)" : text.substr(std::min(equals + 1, text.size())));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Section settings_section() {
  Section section{"settings", "Settings"};
  const fs::path cache = hub_cache_folder();
  std::error_code error;
  const bool there = fs::is_directory(cache, error);
  const std::vector<std::string> models = cached_models(cache);
  section.add("hub_cache", Json{{"folder", cache.string()}, {"exists", there}},
              cache.string() + (there ? "" : " (does not exist yet)"));
  section.add("cached_models", models, joined_names(models));
  const fs::path own = models_folder();
  const std::vector<std::string> own_names = own_models(own);
  section.add("own_models", Json{{"folder", own.string()}, {"models", own_names}},
              joined_names(own_names) + ", in " + own.string());
  Json values = Json::object();
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables()) {
    values[name] = value;
    texts.push_back(name + "=" + value);
  }
  section.add("variables", std::move(values),
              joined_names(texts, "none of HF_*, ATTEND_* and NO_COLOR is set"));
  return section;
}

}  // namespace attend::doctor
