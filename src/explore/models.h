// The models that the explorer offers: the one it was started with, and those on this machine.
#pragma once

#include <attend/text_model.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

namespace attend::explore {

class Models {
 public:
  // Loads the model. Throws FileError.
  explicit Models(std::string first, const ModelOptions& options = {});

  const std::string& first() const noexcept { return first_; }

  // The first, then those of the hub's cache and of models_folder(), by name.
  std::vector<std::string> names() const;

  // Without a name, the first. Only models that names() lists: a page cannot make the server open other
  // files. The two most recent stay loaded. Throws http::RequestError or FileError.
  TextModel load(const std::optional<std::string>& name);

 private:
  std::string first_;
  ModelOptions options_;                                 // of them all
  std::list<std::pair<std::string, TextModel>> loaded_;  // most recently used first
};

}  // namespace attend::explore
