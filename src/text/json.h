// A JSON value of an untrusted file, with its path in it: everything that is wrong becomes a FileError that
// names both.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace attend::text {

// Of a sequence of normalizers, pre-tokenizers or decoders; files have a dozen.
inline constexpr std::size_t kMostSteps = 1000;

class Json {
 public:
  // Parses a whole file. The document must outlive the values, and the name all of them.
  Json(const std::string& file, simdjson::dom::parser& parser, std::string_view bytes);

  const std::string& file() const { return *file_; }
  const std::string& path() const { return path_; }
  bool is_null() const { return element_.is_null(); }
  bool is_object() const { return element_.is_object(); }
  bool is_array() const { return element_.is_array(); }
  bool is_string() const { return element_.is_string(); }

  // The value itself.
  std::string_view string() const;
  bool boolean() const;
  double number() const;
  std::int64_t integer(std::int64_t smallest, std::int64_t largest) const;
  char32_t character() const;  // a string of one
  simdjson::dom::object object() const;
  simdjson::dom::array array() const;
  std::vector<Json> elements(std::size_t most = SIZE_MAX) const;  // more of them are refused

  // An object's members. A key that is not among those named here, or that occurs twice, is refused.
  const Json& only_keys(std::initializer_list<std::string_view> keys) const;
  std::optional<Json> find(std::string_view key) const;  // nothing for null too
  Json at(std::string_view key) const;
  bool boolean(std::string_view key, bool otherwise) const;

  // The member "type" of an object, and whether it is this one.
  std::string_view type() const;
  bool is_bare(std::string_view type) const;  // of this type, which has no other members
  std::string step() const;                   // "normalizer.normalizers[3] (Replace)", for messages

  // Members and elements whose paths are only worth writing when something is wrong with them.
  Json member(std::string_view key, simdjson::dom::element element) const;
  Json element(std::size_t index, simdjson::dom::element element) const;

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    std::ostringstream rule;
    (rule << ... << parts);
    fail_with(rule.str());
  }

 private:
  Json(const std::string* file, simdjson::dom::element element, std::string path)
      : file_(file), element_(element), path_(std::move(path)) {}
  [[noreturn]] void fail_with(std::string rule) const;
  [[noreturn]] void fail_type(std::string_view expected) const;

  const std::string* file_;
  simdjson::dom::element element_;
  std::string path_;
};

// Text of a file for a message: in quotes, printable, and not too long.
std::string shown(std::string_view text);

}  // namespace attend::text
