// The values of a template: data, as Python has it, and what a template itself makes. Immutable and shared,
// except namespaces, which belong to the evaluation.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chat/budget.h"
#include "chat/text.h"

namespace attend::chat {

class Value;
using Values = std::vector<Value>;
struct Statement;

struct Undefined {
  std::shared_ptr<const std::string> name;  // of what is not there
};
struct None {};

// A list, or another of Python's sequences, which differ in what may be done with them.
enum class SequenceKind : std::uint8_t { list, tuple, view, range };
struct Sequence;
struct Dictionary;

// What a filter such as `map` gives: it can be gone through once.
struct Stream {
  std::shared_ptr<const Sequence> items;
  std::size_t next = 0;
};

struct Namespace {
  std::map<std::string, Value, std::less<>> values;
};

struct Loop {
  std::shared_ptr<const Sequence> items;
  std::size_t index = 0;
};

struct Method;  // of a value, not called yet

enum class Function : std::uint8_t { range, dict, make_namespace, raise_exception, strftime_now };

class Value {
 public:
  using Data = std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const Text>,
                            std::shared_ptr<const Sequence>, std::shared_ptr<const Dictionary>, Namespace*,
                            std::shared_ptr<Stream>, std::shared_ptr<const Loop>, const Statement*, Function,
                            std::shared_ptr<const Method>>;

  Value() : data_(None{}) {}
  Value(bool truth) : data_(truth) {}
  Value(std::int64_t number) : data_(number) {}
  Value(double number) : data_(number) {}
  Value(Text text) : data_(std::make_shared<const Text>(std::move(text))) {}
  Value(std::string_view text) : Value(Text(text)) {}
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(Namespace* space) : data_(space) {}
  Value(std::shared_ptr<Stream> stream) : data_(std::move(stream)) {}
  Value(std::shared_ptr<const Loop> loop) : data_(std::move(loop)) {}
  Value(const Statement* macro) : data_(macro) {}
  Value(Function function) : data_(function) {}
  static Value method(const Value& owner, std::string_view name);
  static Value undefined(std::string_view name);
  static Value list(Values items, SequenceKind kind = SequenceKind::list);
  static Value dict(std::vector<std::pair<Value, Value>> items);  // of equal keys the last one counts
  static Value stream(Values items);

  template <class T>
  const T* get_if() const noexcept {
    return std::get_if<T>(&data_);
  }
  template <class T>
  bool is() const noexcept {
    return std::holds_alternative<T>(data_);
  }
  const Text* text() const noexcept;
  const Sequence* sequence() const noexcept;
  const Dictionary* dictionary() const noexcept;
  bool is_undefined() const noexcept { return is<Undefined>(); }
  bool is_none() const noexcept { return is<None>(); }
  bool is_number() const noexcept { return is<bool>() || is<std::int64_t>() || is<double>(); }
  std::int64_t integer() const noexcept;  // of a bool or a whole number
  double number() const noexcept;         // of any number

  bool truth() const;
  int depth() const noexcept;     // of values in values
  std::string kind_name() const;  // "a string", for messages

 private:
  Data data_;
};

struct Sequence {
  Values items;
  SequenceKind kind = SequenceKind::list;
  int depth = 1;
};

struct Dictionary {
  std::vector<std::pair<Value, Value>> items;
  int depth = 1;
  const Value* find(std::string_view key) const;
  const Value* find(const Value& key, Budget& budget) const;
};

struct Method {
  Value owner;
  std::string name;
};

bool equal(const Value& a, const Value& b, Budget& budget);
int compare(const Value& a, const Value& b, Budget& budget);  // < 0, 0, > 0; fails where there is no order
bool contains(const Value& container, const Value& item, Budget& budget);

// str() and repr() of Python.
Text str(const Value& value, Budget& budget);
Text repr(const Value& value, Budget& budget);
std::string number_text(double number);

// json.dumps().
struct JsonOptions {
  bool ensure_ascii = false, sort_keys = false;
  std::optional<Text> indent{};
  Text item_separator{}, key_separator{};
};
Text to_json(const Value& value, const JsonOptions& options, Budget& budget);

// Going through a value as `for` does. A stream is used up by it.
std::shared_ptr<const Sequence> iterated(const Value& value, Budget& budget);

// The same for a range-based for, which would not keep the pointer.
class Items {
 public:
  explicit Items(std::shared_ptr<const Sequence> held) : held_(std::move(held)) {}
  auto begin() const { return held_->items.begin(); }
  auto end() const { return held_->items.end(); }

 private:
  std::shared_ptr<const Sequence> held_;
};
inline Items items_of(const Value& value, Budget& budget) { return Items(iterated(value, budget)); }

}  // namespace attend::chat
