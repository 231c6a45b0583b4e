// The models that write, each with its own thread: one text at a time, the others wait for their turn.
#pragma once

#include <attend/generation.h>

#include <map>
#include <memory>

#include "serve/batcher.h"
#include "serve/models.h"

namespace attend::serve {

class Writers {
 public:
  struct Writer {
    explicit Writer(const TextModel& model) : generator(model) {}
    Generator generator;  // of the queue's thread, once there is work
    Batcher queue{BatcherOptions{}};
  };

  explicit Writers(const Models& models);

  // Throws Refused for a model that does not write.
  Writer& find(const ServedModel& model);
  void drop_unwanted();

 private:
  std::map<const TextModel*, std::unique_ptr<Writer>> writers_;
};

}  // namespace attend::serve
