#include "explore/server.h"

#include <memory>

#include "http/workers.h"

namespace attend::explore {

void serve(Api& api, const ServerOptions& options) {
  http::Workers worker(1);
  const auto handler = [&](std::shared_ptr<http::Exchange> exchange) {
    if (!is_for_api(exchange->request())) return exchange->answer(page_answer(exchange->request()));
    worker.add([&api, exchange = std::move(exchange)] {
      if (exchange->gone()) return;  // its client did not wait
      exchange->answer(exchange->stopping() ? http::error_response(503, "the server is being stopped")
                                            : api.answer(exchange->request()));
    });
  };
  http::serve(handler, {.port = options.port == 0 ? http::kDefaultPort : options.port,
                        .ports_to_try = options.port == 0 ? kPortsToTry : 1,
                        .ready = options.ready});
}

}  // namespace attend::explore
