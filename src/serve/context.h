// What the routes of a server share.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "http/workers.h"
#include "serve/batcher.h"
#include "serve/call.h"
#include "serve/metrics.h"
#include "serve/models.h"
#include "serve/options.h"
#include "serve/writers.h"

namespace attend::serve {

class Context {
 public:
  Context(std::vector<ServedModel> served, const ServeOptions& given);

  const ServeOptions options;
  const Models models;
  Metrics metrics;
  std::atomic<std::int64_t> in_progress = 0;
  const Journal journal;
  http::Workers workers;  // parse, tokenize, and write answers
  Batcher batcher;        // computes
  Writers writers;        // and so do these

  // Computes, then answers with what `finish` makes of it, unless the client goes away meanwhile. Throws
  // Refused when too much waits.
  void compute(const std::shared_ptr<Call>& call, std::shared_ptr<Work> work,
               std::function<http::Response(Work&)> finish);
};

}  // namespace attend::serve
