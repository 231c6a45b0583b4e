#include "serve/writers.h"

#include <attend/file_error.h>

#include "serve/refused.h"

namespace attend::serve {

Writers::Writers(const Models& models) {
  for (const ServedModel& served : models.all()) {
    try {
      writers_.emplace(served.model.get(), std::make_unique<Writer>(*served.model));
    } catch (const FileError&) {  // it makes vectors, and nothing else
    }
  }
}

Writers::Writer& Writers::find(const ServedModel& model) {
  const auto found = writers_.find(model.model.get());
  if (found == writers_.end())
    throw Refused(Fault::wrong_kind, joined("the model ", model.name, " does not write"), "model");
  return *found->second;
}

void Writers::drop_unwanted() {
  for (const auto& [model, writer] : writers_) writer->queue.drop_unwanted();
}

}  // namespace attend::serve
