#include "serve/models.h"

#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "io/fail.h"
#include "serve/refused.h"

namespace attend::serve {
namespace {

std::string last_part(std::string_view name) {
  while (name.size() > 1 && name.ends_with('/')) name.remove_suffix(1);
  return std::string(name.substr(name.rfind('/') + 1));  // npos + 1 is 0
}

}  // namespace

ServedModel served(const std::string& given, TextModel model) {
  std::error_code error;
  return {.name = std::filesystem::exists(given, error) ? last_part(given) : given,
          .model = std::make_shared<const TextModel>(std::move(model))};
}

Models::Models(std::vector<ServedModel> models) : models_(std::move(models)) {
  std::set<std::string> names;
  for (const ServedModel& model : models_)
    if (!names.insert(last_part(model.name)).second)
      refuse("serve", "two models are called ", io::quoted(last_part(model.name)));
}

const ServedModel& Models::find(const std::optional<std::string>& name) const {
  if (!name) return models_.front();
  std::string known;
  for (const ServedModel& model : models_) {
    const bool whole = name->find('/') != name->npos && model.name.find('/') != model.name.npos;
    if (whole ? model.name == *name : last_part(model.name) == last_part(*name)) return model;
    known.append(known.empty() ? "" : ", ").append(model.name);
  }
  throw Refused(Fault::no_model, joined("there is no model ", io::quoted(*name), " here, only ", known),
                "model");
}

}  // namespace attend::serve
