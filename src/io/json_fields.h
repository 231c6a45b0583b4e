// A JSON object whose values are mostly plain, read once and then asked by key.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "io/json_reader.h"
#include "io/open_file.h"

namespace attend::io {

inline constexpr std::size_t kMaxConfigBytes = std::size_t{4} << 20;
// Of any size that a configuration may name.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;

class JsonFields {
 public:
  // `nested` may read a value that is an object or an array, and says whether it did; otherwise it is left
  // unread, though it must be JSON.
  using Nested = std::function<bool(JsonReader& json, std::string_view key)>;
  explicit JsonFields(FileText text, const Nested& nested = {});
  // `opened`: keys whose objects and arrays are read too, with what is inside them. Their values are asked
  // for by a path: "rope_parameters.full_attention.rope_theta", "layer_types.0".
  JsonFields(FileText text, const Nested& nested, std::span<const std::string_view> opened);

  const std::string& file() const noexcept { return text_.name; }
  bool has(std::string_view key) const;               // and it is not null
  bool is_null(std::string_view key) const;           // it is there, as null
  std::int64_t elements(std::string_view key) const;  // of an array that was opened; anything else has none

  // A whole number in [low, high], under the first of these keys that is there. Without a fallback one must
  // be.
  using Keys = std::initializer_list<std::string_view>;
  std::int64_t integer(Keys keys, std::int64_t low, std::int64_t high) const;
  std::int64_t integer(Keys keys, std::int64_t low, std::int64_t high, std::int64_t fallback) const;
  double number(std::string_view key, double fallback) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string_view string(std::string_view key) const;
  std::string_view string(std::string_view key, std::string_view fallback) const;

  template <class... Parts>
  [[noreturn]] void refuse(std::string_view key, const Parts&... parts) const {
    fail(file(), key, parts...);
  }

 private:
  struct Value {
    JsonKind kind = JsonKind::null;
    bool truth = false;
    std::int64_t elements = 0;
    std::string_view text{};  // a string, or a number's digits
  };
  void read(JsonReader& json, std::string_view key, const Nested& nested,
            std::span<const std::string_view> opened);
  void open(JsonReader& json, std::string_view path, Value& value);
  const Value* find(std::string_view key) const;
  const Value& require(std::string_view key, JsonKind kind, const char* expected) const;

  FileText text_;
  std::deque<std::string> paths_;  // keys of what was opened, which values_ looks at
  std::map<std::string_view, Value> values_;
};

}  // namespace attend::io
