// Parses the target of a request, such as "/api/1a2b-3/tile?layer=2&head=1".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::http {

// Each function throws RequestError, 400, for what it cannot read.
class Target {
 public:
  explicit Target(std::string_view target);

  // The parts between the slashes, percent-decoded: {"api", "1a2b-3", "tile"}; of "/": {""}.
  const std::vector<std::string>& path() const noexcept { return path_; }

  // A parameter; each may be given at most once. Unused parameters are an error: require_all_used().
  std::optional<std::string> text(const std::string& name);
  std::optional<std::int64_t> number(const std::string& name);  // a whole number, 0 or more
  std::int64_t required_number(const std::string& name);
  void require_all_used() const;

 private:
  std::vector<std::string> path_;
  std::map<std::string, std::string> parameters_;
};

}  // namespace attend::http
