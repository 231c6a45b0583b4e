#include "http/target.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "http/message.h"
#include "io/fail.h"

namespace attend::http {
namespace {

[[noreturn]] void refuse_target(std::string_view sentence) { throw RequestError(400, std::string(sentence)); }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      refuse_target("the address has a % that is not followed by two hexadecimal digits");
    result += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return result;
}

// The parts between separators; one more than there are separators.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Target::Target(std::string_view target) {
  if (!target.starts_with('/')) refuse_target("the address does not begin with /");
  if (std::any_of(target.begin(), target.end(), [](char c) { return c <= 0x20 || c >= 0x7F; }))
    refuse_target("the address has characters that must be percent-encoded");
  const std::size_t question = target.find('?');
  for (const std::string_view part :
       split(target.substr(1, question == target.npos ? target.npos : question - 1), '/'))
    path_.push_back(decoded(part));
  if (question == target.npos) return;
  for (const std::string_view part : split(target.substr(question + 1), '&')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string name = decoded(part.substr(0, equals));
    const std::string value = equals == part.npos ? "" : decoded(part.substr(equals + 1));
    if (!parameters_.emplace(name, value).second)
      refuse_target(joined("parameter ", io::shown(name), " is given twice"));
  }
}

std::optional<std::string> Target::text(const std::string& name) {
  const auto found = parameters_.extract(name);
  if (found.empty()) return std::nullopt;
  return found.mapped();
}

std::optional<std::int64_t> Target::number(const std::string& name) {
  const std::optional<std::string> given = text(name);
  if (!given) return std::nullopt;
  std::int64_t value = 0;
  const char* const end = given->data() + given->size();
  const auto [stop, error] = std::from_chars(given->data(), end, value);
  constexpr std::int64_t kMost = std::int64_t{1}
                                 << 40;  // so that products with small factors fit into 64 bits
  if (given->empty() || error != std::errc() || stop != end || value < 0 || value > kMost)
    refuse_target(joined("parameter ", name, " is \"", io::shown(*given), "\", expected a whole number"));
  return value;
}

std::int64_t Target::required_number(const std::string& name) {
  const std::optional<std::int64_t> value = number(name);
  if (!value) refuse_target(joined("parameter ", name, " is missing"));
  return *value;
}

void Target::require_all_used() const {
  if (!parameters_.empty())
    refuse_target(joined("there is no parameter ", io::shown(parameters_.begin()->first)));
}

}  // namespace attend::http
