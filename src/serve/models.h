// The models that a server was started with, by the names that requests may call them.
#pragma once

#include <attend/text_model.h>

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attend::serve {

struct ServedModel {
  std::string name;  // as it is listed: of a folder its last part
  std::shared_ptr<const TextModel> model;
  std::time_t loaded = std::time(nullptr);
};

// given: as on the command line.
ServedModel served(const std::string& given, TextModel model);

class Models {
 public:
  // The first is the one for requests that name none. Throws std::invalid_argument for two of the same name.
  explicit Models(std::vector<ServedModel> models);

  const std::vector<ServedModel>& all() const noexcept { return models_; }
  // "MiniLM" also finds "org/MiniLM", and the other way round. Throws Refused.
  const ServedModel& find(const std::optional<std::string>& name) const;

 private:
  std::vector<ServedModel> models_;
};

}  // namespace attend::serve
