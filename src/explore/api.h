// The answers of the explorer, request by request. Not thread-safe, except for page_answer().
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "explore/models.h"
#include "explore/readings.h"
#include "http/message.h"
#include "http/target.h"

namespace attend::explore {

// Longer texts are not compared: every state of both would have to be kept.
inline constexpr std::int64_t kMostComparedTokens = 1024;

// The most places whose guesses one request asks for.
inline constexpr std::int64_t kMostGuessPlaces = 16;

class Api {
 public:
  // `text` is the text that the page starts with, `sink` what it does with the first token at first.
  Api(std::string model, std::string text, SinkChoice sink = SinkChoice::automatic,
      const ModelOptions& options = {});
  // A recorded pass, and nothing else. Throws FileError.
  explicit Api(std::filesystem::path recording, SinkChoice sink = SinkChoice::automatic);

  // Always returns an answer: errors are answers too.
  http::Response answer(const http::Request& request);

 private:
  http::Response route(const http::Request& request);
  http::Response models();
  http::Response read(const std::string& body);
  http::Response compare(const std::string& body);
  http::Response tile(const std::string& id, http::Target& target);
  http::Response row(const std::string& id, http::Target& target);
  http::Response cell(const std::string& id, http::Target& target);
  http::Response scores(const std::string& id, http::Target& target);
  http::Response next(const std::string& id, http::Target& target);
  http::Response guesses(const std::string& id, http::Target& target);
  http::Response block(const std::string& id, http::Target& target);
  http::Response change(const std::string& id, const std::string& body);

  Models& models_to_read_with();

  std::optional<Models> models_;  // or else
  std::optional<std::filesystem::path> recording_;
  Readings readings_;
  std::string text_;
  SinkChoice sink_;
};

// Whether a request needs an Api, which may take time, or only the page and its modules.
bool is_for_api(const http::Request& request);
http::Response page_answer(const http::Request& request);

}  // namespace attend::explore
