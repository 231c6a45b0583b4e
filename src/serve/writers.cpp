#include "serve/writers.h"

#include <attend/file_error.h>

#include "serve/refused.h"

namespace attend::serve {

Writers::Writers(const Models& models, const WriterOptions& options,
                 const std::function<void(std::int64_t)>& stepped) {
  for (const ServedModel& served : models.all()) {
    try {
      writers_.emplace(served.model.get(), std::make_unique<Writer>(*served.model, options, stepped));
    } catch (const FileError&) {  // it makes vectors, and nothing else
    }
  }
}

Writer& Writers::find(const ServedModel& model) {
  const auto found = writers_.find(model.model.get());
  if (found == writers_.end())
    throw Refused(Fault::wrong_kind, joined("the model ", model.name, " does not write"), "model");
  return *found->second;
}

void Writers::drop_unwanted() {
  for (const auto& [model, writer] : writers_) writer->drop_unwanted();
}

std::int64_t Writers::waiting_requests() const {
  std::int64_t sum = 0;
  for (const auto& [model, writer] : writers_) sum += writer->waiting_requests();
  return sum;
}

std::int64_t Writers::texts() const {
  std::int64_t sum = 0;
  for (const auto& [model, writer] : writers_) sum += writer->texts();
  return sum;
}

}  // namespace attend::serve
