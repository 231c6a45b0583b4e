// Parses the JSON bodies of requests. They are untrusted: each function throws http::RequestError, 400, for
// what it cannot read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::explore {

// POST /api/read
struct ReadBody {
  std::string text, second{};
  std::optional<std::string> model{};
};
ReadBody parse_read(std::string_view body);

// POST /api/<id>/change
struct ChangeBody {
  std::vector<std::string> edits;
};
ChangeBody parse_change(std::string_view body);

// POST /api/compare
struct CompareBody {
  std::string first, second, word;
  std::optional<std::string> model{};
};
CompareBody parse_compare(std::string_view body);

}  // namespace attend::explore
