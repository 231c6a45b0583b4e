#include "http/message.h"

#include <nlohmann/json.hpp>

namespace attend::http {

Response error_response(int status, std::string_view sentence) {
  const nlohmann::json json = {{"error", std::string(sentence)}};
  return {.status = status, .body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

Response error_response(const RequestError& error) {
  Response response = error_response(error.status, error.what());
  if (!error.allowed.empty()) response.headers.emplace_back("Allow", error.allowed);
  return response;
}

void require_method(const Request& request, std::string_view method) {
  const std::string allowed(method);
  if (request.method != method) throw RequestError(405, "this address is for " + allowed, allowed);
}

}  // namespace attend::http
