// A request and its answer: no sockets, no HTTP library.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::http {

struct Request {
  std::string method;  // "GET"
  std::string target;  // "/api/models?x=1", as it was sent
  std::string host;    // from the header, or empty
  std::string origin;
  std::string body;
  std::string authorization{};  // from the header, or empty
  std::string patience{};       // of X-Envoy-Expected-Rq-Timeout-Ms, or empty
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

// A request that is answered with an error: status and one sentence.
struct RequestError : std::runtime_error {
  RequestError(int code, const std::string& sentence, std::string method = {})
      : std::runtime_error(sentence), status(code), allowed(std::move(method)) {}
  int status;
  std::string allowed;  // for 405: the method that is allowed
};

// {"error": "one sentence"}
Response error_response(int status, std::string_view sentence);
Response error_response(const RequestError& error);

// Throws RequestError, 405, for a method that the address does not allow.
void require_method(const Request& request, std::string_view method);

}  // namespace attend::http
