// A JSON object whose values are mostly plain, read once and then asked by key. Refusals name what is inside
// another object by its path: "rope_scaling.factor".
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_reader.h"
#include "io/open_file.h"

namespace attend::io {

inline constexpr std::size_t kMaxConfigBytes = std::size_t{4} << 20;
// Of any size that a configuration may name.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;

class JsonFields {
 public:
  static constexpr std::size_t kMaxElements = std::size_t{1} << 16;  // of a list that is kept

  // `nested` may read a value that is an object or an array, and says whether it did; otherwise it is left
  // unread, though it must be JSON.
  using Nested = std::function<bool(JsonReader& json, std::string_view key)>;
  // kept: keys whose objects and lists can be asked for, at any depth.
  explicit JsonFields(FileText text, const Nested& nested = {}, std::span<const std::string_view> kept = {});

  const std::string& file() const noexcept { return text_.name; }
  bool has(std::string_view key) const;                          // and it is not null
  bool is_null(std::string_view key) const;                      // it is there, and null
  std::size_t count() const noexcept { return values_.size(); }  // of keys

  // A whole number in [low, high], under the first of these keys that is there. Without a fallback one must
  // be.
  using Keys = std::initializer_list<std::string_view>;
  std::int64_t integer(Keys keys, std::int64_t low, std::int64_t high) const;
  std::int64_t integer(Keys keys, std::int64_t low, std::int64_t high, std::int64_t fallback) const;
  double number(std::string_view key, double fallback) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string_view string(std::string_view key) const;
  std::string_view string(std::string_view key, std::string_view fallback) const;

  // Of kept keys. An object: a null pointer where there is none. A list of more than `most` is refused; none:
  // it is empty.
  const JsonFields* object(std::string_view key) const;
  std::vector<double> numbers(std::string_view key, std::size_t most) const;
  std::vector<std::string_view> strings(std::string_view key, std::size_t most) const;
  bool is_list(std::string_view key) const;

  template <class... Parts>
  [[noreturn]] void refuse(std::string_view key, const Parts&... parts) const {
    fail(file(), path(key), parts...);
  }

 private:
  struct Value {
    JsonKind kind = JsonKind::null;
    bool truth = false;
    std::string_view text{};  // a string, or a number's digits
    std::unique_ptr<JsonFields> object{};
    std::vector<Value> list{};
  };
  using Kept = std::span<const std::string_view>;
  JsonFields(const std::string& file, std::string within, JsonReader& json, Kept kept);
  void read(JsonReader& json, const Nested& nested, Kept kept);
  Value plain(JsonReader& json, std::string_view where) const;
  std::string path(std::string_view key) const;
  double number_of(const Value& value, std::string_view key) const;
  const std::vector<Value>& list(std::string_view key, std::size_t most) const;
  const Value* find(std::string_view key) const;
  const Value& require(std::string_view key, JsonKind kind, const char* expected) const;

  FileText text_;
  std::string within_{};  // of an object inside another one: "rope_scaling"
  std::map<std::string_view, Value> values_;
};

}  // namespace attend::io
