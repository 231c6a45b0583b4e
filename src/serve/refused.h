// Requests that are refused, and what the two families of clients expect to be told.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"
#include "http/message.h"

namespace attend::serve {

enum class Fault : std::uint8_t {
  syntax,        // the body is not JSON
  empty,         // nothing to work on
  invalid,       // a field is missing or wrong
  too_long,      // a text has more tokens than the model reads
  too_many,      // more texts in one request than are allowed
  too_large,     // the body
  unauthorized,  // no API key, or a wrong one
  no_route,      // there is nothing at this address
  wrong_method,
  no_model,    // there is no such model
  wrong_kind,  // the model is not one that does this
  overloaded,
  late,  // its deadline is over
  stopping,
  stranger,  // a page of another site
  internal,
};

struct Refused : std::runtime_error {
  Refused(Fault kind, const std::string& sentence, std::string field = {})
      : std::runtime_error(sentence), fault(kind), param(std::move(field)) {}
  Fault fault;
  std::string param;     // the field of the body that is wrong, where that is known
  std::string logged{};  // what the client is not told
};

template <class... Parts>
[[noreturn]] void refuse_with(Fault fault, const Parts&... parts) {
  throw Refused(fault, joined(parts...));
}

// OpenAI's clients read {"error": {"message", "type", "param", "code"}}, those of Text Embeddings Inference
// {"error", "error_type"}.
enum class Family : std::uint8_t { openai, tei };

http::Response refusal(Family family, const Refused& refused);

// Of a request that is not valid HTTP or too large, before any route has seen it: 400, 413, 431.
http::Response unread(int status, const std::string& sentence);

// Whatever was thrown while a request was answered, as a refusal. What is not the client's fault may name
// files of this machine, so it is logged, and the client is told that it was.
Refused refused_by(const std::exception& error);

}  // namespace attend::serve
