#include "serve/refused.h"

#include <attend/file_error.h>

#include <new>
#include <nlohmann/json.hpp>

namespace attend::serve {
namespace {

struct Told {
  Fault fault;
  int openai, tei;          // the status
  const char *type, *code;  // of OpenAI's error
  const char* error_type;   // of TEI's
};

constexpr const char* kInvalidRequest = "invalid_request_error";

constexpr Told kTold[] = {
    {Fault::syntax, 400, 400, kInvalidRequest, nullptr, "Validation"},
    {Fault::empty, 400, 400, kInvalidRequest, nullptr, "Empty"},
    {Fault::invalid, 400, 422, kInvalidRequest, nullptr, "Validation"},
    {Fault::too_long, 400, 422, kInvalidRequest, "context_length_exceeded", "Validation"},
    {Fault::too_many, 400, 422, kInvalidRequest, nullptr, "Validation"},
    {Fault::too_large, 413, 413, kInvalidRequest, nullptr, "Validation"},
    {Fault::unauthorized, 401, 401, kInvalidRequest, "invalid_api_key", "Unauthorized"},
    {Fault::no_route, 404, 404, kInvalidRequest, "not_found", "Validation"},
    {Fault::wrong_method, 405, 405, kInvalidRequest, "method_not_allowed", "Validation"},
    {Fault::no_model, 404, 404, kInvalidRequest, "model_not_found", "Validation"},
    {Fault::wrong_kind, 400, 424, kInvalidRequest, "wrong_model_kind", "Backend"},
    {Fault::overloaded, 429, 429, "overloaded_error", "rate_limit_exceeded", "Overloaded"},
    {Fault::late, 504, 504, "timeout_error", "timeout", "Timeout"},
    {Fault::stopping, 503, 503, "unavailable_error", "stopping", "Unhealthy"},
    {Fault::stranger, 403, 403, kInvalidRequest, "forbidden", "Unauthorized"},
    {Fault::internal, 500, 500, "server_error", nullptr, "Backend"},
};

const Told& told_of(Fault fault) {
  for (const Told& told : kTold)
    if (told.fault == fault) return told;
  return told_of(Fault::internal);
}

nlohmann::ordered_json text_or_null(const char* text) {
  return text == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

}  // namespace

http::Response refusal(Family family, const Refused& refused) {
  const Told& told = told_of(refused.fault);
  nlohmann::ordered_json json;
  if (family == Family::openai) {
    json["error"] = {{"message", refused.what()},
                     {"type", told.type},
                     {"param", text_or_null(refused.param.empty() ? nullptr : refused.param.c_str())},
                     {"code", text_or_null(told.code)}};
  } else {
    json = {{"error", refused.what()}, {"error_type", told.error_type}};
  }
  http::Response response{.status = family == Family::openai ? told.openai : told.tei,
                          .body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  if (refused.fault == Fault::overloaded || refused.fault == Fault::stopping)
    response.headers.emplace_back("Retry-After", "1");
  if (refused.fault == Fault::unauthorized) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (refused.fault == Fault::wrong_method) response.headers.emplace_back("Allow", refused.param);
  return response;
}

http::Response unread(int status, const std::string& sentence) {
  http::Response response = refusal(Family::openai, Refused(Fault::too_large, sentence));
  response.status = status;
  return response;
}

Refused refused_by(const std::exception& error) {
  if (const auto* const refused = dynamic_cast<const Refused*>(&error)) return *refused;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return {Fault::internal, "there is not enough memory"};
  if (dynamic_cast<const std::invalid_argument*>(&error) != nullptr)
    return {Fault::invalid, plain_sentence(error)};
  Refused refused(Fault::internal, "the server could not answer this; its log says why");
  refused.logged = error.what();
  return refused;
}

}  // namespace attend::serve
