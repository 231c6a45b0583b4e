#include "serve/context.h"

#include <attend/threads.h>

#include <chrono>
#include <ctime>
#include <iomanip>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace attend::serve {
namespace {

// "2026-11-18T19:16:20.123Z"
std::string time_now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%Y-%m-%dT%H:%M:%S.") << std::setw(3) << std::setfill('0') << milliseconds
       << 'Z';
  return text.str();
}

// In quotes, and of ASCII.
std::string one_line(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// No part of a request is in it but which route it took.
std::string log_line(const Finished& request) {
  std::ostringstream line;
  line << "time=" << time_now() << " route=" << request.route << " status=" << request.status
       << " texts=" << request.texts << " tokens=" << request.tokens << std::fixed << std::setprecision(1)
       << " ms=" << request.seconds * 1000 << " queue_ms=" << request.queued * 1000
       << " compute_ms=" << request.computing * 1000;
  if (!request.error.empty()) line << " error=" << one_line(request.error);
  return line.str();
}

Journal journal_of(Metrics& metrics, const ServeOptions& options) {
  return [&metrics, &options, one_at_a_time = std::make_shared<std::mutex>()](const Finished& request) {
    metrics.add(request);
    if (!options.log) return;
    const std::string line = log_line(request);
    const std::lock_guard lock(*one_at_a_time);
    options.log(line);
  };
}

}  // namespace

Context::Context(std::vector<ServedModel> served, const ServeOptions& given)
    : options(given),
      models(std::move(served)),
      journal(journal_of(metrics, options)),
      workers(threads()),
      batcher({.batch_tokens = given.max_batch_tokens},
              [this](std::int64_t texts, std::int64_t tokens) { metrics.add_batch(texts, tokens); }),
      writers(models, {.texts = given.max_num_seqs, .total_tokens = given.max_batch_total_tokens},
              [this](std::int64_t texts) { metrics.add_step(texts); }) {}

void Context::compute(const std::shared_ptr<Call>& call, std::shared_ptr<Work> work,
                      std::function<http::Response(Work&)> finish) {
  work->wanted = [call] { return !call->gone(); };
  work->in_time = [call] { call->require_in_time(); };
  work->done = [this, call, finish = std::move(finish)](Work& finished) {
    workers.add([call, finish, work = finished.shared_from_this()] {
      answering(*call, [&] {
        call->computed(*work);
        if (work->failure) std::rethrow_exception(work->failure);
        call->answer(finish(*work));
      });
    });
  };
  if (!batcher.add(std::move(work))) throw Refused(Fault::overloaded, "too many texts are waiting");
}

}  // namespace attend::serve
