#include "serve/server.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "http/callers.h"
#include "http/server.h"
#include "serve/routes.h"
#include "serve/service_manager.h"

namespace attend::serve {
namespace {

struct Route {
  std::string_view method, path;
  Family family;
  Answer answer;
};

constexpr Route kRoutes[] = {
    {"POST", "/v1/embeddings", Family::openai, answer_embeddings},
    {"POST", "/embeddings", Family::openai, answer_embeddings},
    {"POST", "/v1/completions", Family::openai, answer_completion},
    {"POST", "/v1/chat/completions", Family::openai, answer_chat},
    {"POST", "/", Family::tei, answer_main},
    {"POST", "/embed", Family::tei, answer_embed},
    {"POST", "/embed_all", Family::tei, answer_embed_all},
    {"POST", "/similarity", Family::tei, answer_similarity},
    {"POST", "/tokenize", Family::tei, answer_tokenize},
    {"POST", "/decode", Family::tei, answer_decode},
    {"POST", "/predict", Family::tei, answer_predict},
    {"POST", "/rerank", Family::tei, answer_rerank},
    {"POST", "/v1/rerank", Family::openai, answer_rerank},
    {"POST", "/v2/rerank", Family::openai, answer_rerank},
    {"POST", "/embed_sparse", Family::tei, refuse_model_kind},
    {"POST", "/explain", Family::tei, answer_explain},
};

constexpr std::string_view kModels = "/v1/models";

// What takes no time, and is answered at once whatever else goes on.
constexpr std::string_view kQuick[] = {"/", "/health", "/ping", "/metrics", "/info", kModels};

bool is_same_key(std::string_view given, std::string_view key) {
  unsigned different = given.size() == key.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size() && !key.empty(); ++i)  // all of it: how long it takes says nothing
    different |= static_cast<unsigned char>(given[i] ^ key[i % key.size()]);
  return different == 0;
}

class Service {
 public:
  Service(std::vector<ServedModel> models, const ServeOptions& options)
      : context_(std::move(models), options) {}

  void handle(std::shared_ptr<http::Exchange> exchange) {
    const http::Request& request = exchange->request();
    const std::string path = request.target.substr(0, request.target.find('?'));
    const auto route = std::ranges::find_if(
        kRoutes, [&](const Route& known) { return known.path == path && known.method == request.method; });
    if (route == std::end(kRoutes)) return answer_quickly(std::move(exchange), path);
    const auto call = std::make_shared<Call>(std::move(exchange), std::string(route->path), route->family,
                                             context_.journal, &context_.in_progress);
    answering(*call, [&] {
      require_allowed(call->request());
      require_room();
      call->set_timeout(timeout_of(call->request()));
      context_.workers.add([this, call, answer = route->answer] {
        if (!call->gone()) answering(*call, [&] { answer(context_, call); });
      });
    });
  }

 private:
  void answer_quickly(std::shared_ptr<http::Exchange> exchange, const std::string& path) {
    const bool listed = path == kModels || path.starts_with(joined(kModels, '/'));
    const bool stopping = exchange->stopping();
    const bool known = listed || std::ranges::find(kQuick, path) != std::end(kQuick);
    const std::string name = !known ? "other" : listed ? std::string(kModels) : path;
    const bool openai = path.starts_with("/v1/") || path.starts_with("/v2/");
    Call call(std::move(exchange), name, openai ? Family::openai : Family::tei, context_.journal, nullptr);
    answering(call, [&] { call.answer(quick_answer(call.request(), path, stopping)); });
  }

  http::Response quick_answer(const http::Request& request, const std::string& path, bool stopping) {
    const bool open = path == "/health" || path == "/ping" || path == "/metrics";
    if (open) {
      require_own_caller(request);
    } else {
      require_allowed(request);
    }
    if (path == "/ping") return get(request, {.type = "", .body = ""});
    if (path == "/health" || path == "/") {
      if (stopping) throw Refused(Fault::stopping, "the server is being stopped");
      return get(request, {.type = "", .body = ""});
    }
    if (path == "/metrics")
      return get(request,
                 {.type = "text/plain; version=0.0.4; charset=utf-8",
                  .body = context_.metrics.text({.requests = context_.in_progress,
                                                 .waiting_requests = context_.batcher.waiting_requests() +
                                                                     context_.writers.waiting_requests(),
                                                 .waiting_tokens = context_.batcher.waiting_tokens(),
                                                 .writing_texts = context_.writers.texts()})});
    if (path == "/info") return get(request, server_info(context_));
    if (path == kModels) return get(request, model_list(context_));
    if (path.starts_with(joined(kModels, '/')))
      return get(request, model_entry(context_, path.substr(kModels.size() + 1)));
    for (const Route& known : kRoutes)
      if (known.path == path) throw Refused(Fault::wrong_method, "this address is for POST", "POST");
    throw Refused(Fault::no_route, "there is nothing at this address");
  }

  static http::Response get(const http::Request& request, http::Response response) {
    if (request.method != "GET") throw Refused(Fault::wrong_method, "this address is for GET", "GET");
    return response;
  }

  // A server that only this machine can reach is still reached by its browsers.
  void require_own_caller(const http::Request& request) const {
    if (context_.options.host != "127.0.0.1" && context_.options.host != "localhost") return;
    try {
      http::require_own(request);
    } catch (const http::RequestError& error) {
      throw Refused(Fault::stranger, error.what());
    }
  }

  void require_allowed(const http::Request& request) const {
    require_own_caller(request);
    const std::string& key = context_.options.api_key;
    if (key.empty()) return;
    constexpr std::string_view kScheme = "Bearer ";
    const std::string_view given = request.authorization;
    if (!given.starts_with(kScheme) || !is_same_key(given.substr(kScheme.size()), key))
      throw Refused(Fault::unauthorized, "this server needs its API key: Authorization: Bearer KEY");
  }

  // The server's, or what a proxy in front of it says that it will wait, where that is less.
  std::chrono::milliseconds timeout_of(const http::Request& request) const {
    const std::chrono::milliseconds most = context_.options.request_timeout;
    if (request.patience.empty()) return most;
    std::int64_t given = 0;
    const char* const end = request.patience.data() + request.patience.size();
    const auto [rest, error] = std::from_chars(request.patience.data(), end, given);
    if (error != std::errc() || rest != end || given < 1)
      throw Refused(Fault::invalid, "X-Envoy-Expected-Rq-Timeout-Ms is not a number of milliseconds");
    return std::min(most, std::chrono::milliseconds(given));
  }

  void require_room() {
    const std::int64_t most = context_.options.max_concurrent_requests;
    if (context_.in_progress > most) {
      context_.batcher.drop_unwanted();
      context_.writers.drop_unwanted();
    }
    if (context_.in_progress > most)
      throw Refused(Fault::overloaded, joined(most, " requests are being answered, which is the most"));
  }

  Context context_;
};

}  // namespace

void serve(std::vector<ServedModel> models, const ServeOptions& options) {
  Service service(std::move(models), options);
  http::serve([&](std::shared_ptr<http::Exchange> exchange) { service.handle(std::move(exchange)); },
              {.host = options.host,
               .port = static_cast<std::uint16_t>(options.port),
               .grace = options.grace,
               .drain = options.drain,
               .limits = {.body_bytes = static_cast<std::size_t>(options.payload_limit),
                          .connections = static_cast<std::size_t>(options.max_connections),
                          .idle = options.idle},
               .refusal = unread,
               .ready =
                   [&](const std::string& address) {
                     if (options.ready) options.ready(address);
                     tell_service_manager("READY=1");
                   },
               .stopping = [] { tell_service_manager("STOPPING=1"); }});
}

}  // namespace attend::serve
