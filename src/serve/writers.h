// The models that write.
#pragma once

#include <map>
#include <memory>

#include "serve/models.h"
#include "serve/writer.h"

namespace attend::serve {

class Writers {
 public:
  Writers(const Models& models, const WriterOptions& options,
          const std::function<void(std::int64_t)>& stepped);

  // Throws Refused for a model that does not write.
  Writer& find(const ServedModel& model);
  void drop_unwanted();
  std::int64_t waiting_requests() const;
  std::int64_t texts() const;

 private:
  std::map<const TextModel*, std::unique_ptr<Writer>> writers_;
};

}  // namespace attend::serve
