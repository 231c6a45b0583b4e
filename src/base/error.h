// How the library refuses: an exception whose message is "[operation] one clear sentence".
#pragma once

#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/detail.h"

namespace attend::detail {

// The parts as one text.
template <class... Parts>
std::string joined(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

// refuse("attention", "key has ", 7, " heads, not a divisor of ", 12)
template <class... Parts>
[[noreturn]] void refuse(const char* operation, const Parts&... parts) {
  throw std::invalid_argument(joined('[', operation, "] ", parts...));
}

// What an error says to a person, who called a program and no operation of the library: a refusal without its
// "[operation] ".
inline std::string plain_sentence(const std::exception& error) {
  const std::string_view whole = error.what();
  if (dynamic_cast<const std::invalid_argument*>(&error) == nullptr || !whole.starts_with('['))
    return std::string(whole);
  const std::size_t end = whole.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", 1);
  const bool named = end != whole.npos && end > 1 && whole.substr(end).starts_with("] ");
  return std::string(named ? whole.substr(end + 2) : whole);
}

// std::bad_alloc, which callers know how to answer, with a sentence.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(std::string sentence) : sentence_(std::move(sentence)) {}
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  std::string sentence_;
};

}  // namespace attend::detail
