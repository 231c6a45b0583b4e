// What templates may call: filters, tests, methods of values and functions. Each is a row of a table, so that
// what is not there is known when a template is parsed.
#pragma once

#include <ctime>
#include <string_view>

#include "chat/arguments.h"
#include "chat/value.h"

namespace attend::chat {

struct Setting {
  Budget& budget;
  std::tm now{};  // for strftime_now
};

struct Filter {
  std::string_view name;
  std::string_view parameters;  // with spaces between; "*" at the end: and any others
  Value (*apply)(const Value& value, const Arguments& arguments, Setting& setting);
};
const Filter* find_filter(std::string_view name);

struct Test {
  std::string_view name;
  std::size_t arguments;
  bool (*holds)(const Value& value, const Arguments& arguments, Budget& budget);
};
const Test* find_test(std::string_view name);

// Methods belong to strings and dicts, and some to lists. Is it one that values of some kind have?
bool is_method(std::string_view name);
// Whether this very value has a method of that name in Python, so that `value.name` is not its item.
bool has_method(const Value& value, std::string_view name);
Value call_method(const Value& value, std::string_view name, const Arguments& arguments, Setting& setting);

// The item of a list, a dict or a string; undefined where there is none.
Value item_of(const Value& value, const Value& key, Budget& budget);
Value attribute_of(const Value& value, std::string_view name, Budget& budget);
Value slice_of(const Value& value, const Value& begin, const Value& end, const Value& step, Budget& budget);

Value arithmetic(std::string_view sign, const Value& a, const Value& b, Budget& budget);

// Text::replaced, paid for before it is made.
Text replace_paid(const Text& text, const Text& from, const Text& to, std::int64_t most, Budget& budget);

Value strftime_now(std::string_view format, const std::tm& now);

}  // namespace attend::chat
