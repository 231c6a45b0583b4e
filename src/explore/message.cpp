#include "explore/message.h"

#include <nlohmann/json.hpp>

namespace attend::explore {

Response error_response(int status, std::string_view sentence) {
  const nlohmann::json json = {{"error", std::string(sentence)}};
  return {.status = status, .body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

void require_method(const Request& request, std::string_view method) {
  if (request.method != method) throw RequestError(405, "this address is for " + std::string(method));
}

}  // namespace attend::explore
