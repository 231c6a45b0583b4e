// Methods of strings, dicts and lists.
#include <algorithm>
#include <array>
#include <limits>

#include "chat/library.h"
#include "io/fail.h"
#include "io/utf8.h"

namespace attend::chat {
namespace {

constexpr std::array<std::string_view, 47> kStringMethods = {
    "capitalize", "casefold",     "center",       "count",   "encode",     "endswith",    "expandtabs",
    "find",       "format",       "format_map",   "index",   "isalnum",    "isalpha",     "isascii",
    "isdecimal",  "isdigit",      "isidentifier", "islower", "isnumeric",  "isprintable", "isspace",
    "istitle",    "isupper",      "join",         "ljust",   "lower",      "lstrip",      "maketrans",
    "partition",  "removeprefix", "removesuffix", "replace", "rfind",      "rindex",      "rjust",
    "rpartition", "rsplit",       "rstrip",       "split",   "splitlines", "startswith",  "strip",
    "swapcase",   "title",        "translate",    "upper",   "zfill"};
constexpr std::array<std::string_view, 11> kDictMethods = {
    "clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"};
constexpr std::array<std::string_view, 11> kListMethods = {
    "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"};
// Those that are here; and those that change a value, which Python's sandbox refuses when they are called.
constexpr std::array<std::string_view, 31> kCallable = {
    "capitalize", "count",   "cycle",      "endswith",     "find",         "format",  "get",   "index",
    "isalnum",    "isalpha", "isdigit",    "islower",      "isspace",      "isupper", "items", "join",
    "keys",       "lower",   "lstrip",     "removeprefix", "removesuffix", "replace", "rfind", "rsplit",
    "rstrip",     "split",   "splitlines", "startswith",   "strip",        "title",   "upper"};
constexpr std::array<std::string_view, 12> kChanging = {"append",     "clear",   "extend", "insert",
                                                        "pop",        "popitem", "remove", "reverse",
                                                        "setdefault", "sort",    "update", "add"};

template <std::size_t N>
bool has(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class StringMethod {
 public:
  StringMethod(const Text& text, std::string_view name, const Arguments& arguments, Budget& budget)
      : text_(text), name_(name), arguments_(arguments), budget_(budget) {}

  Value call() {
    budget_.pay(text_.size() + 64);
    if (name_ == "upper") return with_case(text_, Case::upper);
    if (name_ == "lower") return with_case(text_, Case::lower);
    if (name_ == "title") return titled(text_);
    if (name_ == "capitalize") return capitalized(text_);
    if (name_ == "strip" || name_ == "lstrip" || name_ == "rstrip")
      return strip(text_, optional_text(0, "chars"), name_ != "rstrip", name_ != "lstrip");
    if (name_ == "split" || name_ == "rsplit") return split_parts();
    if (name_ == "splitlines") {
      budget_.pay(text_.size() * 16);
      return listed(split_lines(text_));
    }
    if (name_ == "startswith" || name_ == "endswith") return has_end();
    if (name_ == "replace") return replaced_text();
    if (name_ == "find" || name_ == "rfind" || name_ == "index") return found_at();
    if (name_ == "count") return counted();
    if (name_ == "removeprefix" || name_ == "removesuffix") return without_end();
    if (name_ == "join") return joined_items();
    if (name_ == "format") return formatted();
    if (name_.starts_with("is")) return is_all();
    fail("a string has no method ", io::quoted(name_));
  }

 private:
  const Text& needed_text(std::size_t place, std::string_view name) const {
    const Value* const value = arguments_.find(place, name);
    if (value == nullptr) fail("the method ", io::quoted(name_), " needs an argument");
    return text_of(*value, name_);
  }
  const Text* optional_text(std::size_t place, std::string_view name) const {
    const Value* const value = arguments_.find(place, name);
    return value == nullptr || value->is_none() ? nullptr : &text_of(*value, name_);
  }
  void pay_search(const Text& wanted) { budget_.pay(text_.size() * wanted.size() / 64); }

  static Value listed(std::vector<Text> parts) {
    Values items;
    for (Text& part : parts) items.emplace_back(std::move(part));
    return Value::list(std::move(items));
  }

  Value split_parts() {
    const Text* const separator = optional_text(0, "sep");
    const Value* const most = arguments_.find(1, "maxsplit");
    const std::int64_t limit = most != nullptr ? whole(*most, "maxsplit") : -1;
    if (separator != nullptr && separator->empty()) fail("a string is split at an empty one");
    if (separator != nullptr) pay_search(*separator);
    if (separator == nullptr && name_ == "rsplit" && limit >= 0)
      fail("uses rsplit without a separator, which attend does not have");
    budget_.pay(text_.size() * 32);
    return listed(split(text_, separator, static_cast<std::ptrdiff_t>(limit), name_ == "rsplit"));
  }

  Value has_end() {
    const Value* const wanted = arguments_.find(0, "prefix");
    if (wanted == nullptr || arguments_.values.size() > 1)
      fail("the method ", io::quoted(name_), " takes one argument");
    const auto fits = [&](const Value& one) {
      const std::string& end = text_of(one, name_).bytes;
      return name_ == "startswith" ? text_.bytes.starts_with(end) : text_.bytes.ends_with(end);
    };
    const Sequence* const several = wanted->sequence();
    if (several == nullptr) return fits(*wanted);
    return std::any_of(several->items.begin(), several->items.end(), fits);
  }

  Value replaced_text() {
    const Text &from = needed_text(0, "old"), &to = needed_text(1, "new");
    const Value* const most = arguments_.find(2, "count");
    pay_search(from);
    return replace_paid(text_, from, to, most != nullptr ? whole(*most, "count") : -1, budget_);
  }

  Value found_at() {
    const Text& wanted = needed_text(0, "sub");
    if (arguments_.values.size() > 1) fail("the method ", io::quoted(name_), " takes one argument");
    pay_search(wanted);
    const std::size_t at =
        name_ == "rfind" ? text_.bytes.rfind(wanted.bytes) : text_.bytes.find(wanted.bytes);
    if (at == std::string::npos && name_ == "index")
      fail("a string has no ", io::quoted(wanted.bytes), " in it");
    if (at == std::string::npos) return std::int64_t{-1};
    return static_cast<std::int64_t>(io::count_chars(std::string_view(text_.bytes).substr(0, at)));
  }

  Value counted() {
    const Text& wanted = needed_text(0, "sub");
    pay_search(wanted);
    if (wanted.empty()) return static_cast<std::int64_t>(io::count_chars(text_.bytes)) + 1;
    std::int64_t count = 0;
    for (std::size_t at = text_.bytes.find(wanted.bytes); at != std::string::npos;
         at = text_.bytes.find(wanted.bytes, at + wanted.size()))
      ++count;
    return count;
  }

  Value without_end() {
    const std::string& end = needed_text(0, "prefix").bytes;
    if (name_ == "removeprefix")
      return text_.part(text_.bytes.starts_with(end) ? end.size() : 0, text_.size());
    return text_.part(0, text_.size() - (text_.bytes.ends_with(end) ? end.size() : 0));
  }

  Value joined_items() {
    const Value* const items = arguments_.find(0, "iterable");
    if (items == nullptr) fail("the method \"join\" needs an argument");
    Text result;
    bool first = true;
    for (const Value& item : items_of(*items, budget_)) {
      const Text& piece = text_of(item, "join");
      budget_.pay(piece.size() + text_.size());
      if (!first) result.append(text_);
      first = false;
      result.append(piece);
    }
    return result;
  }

  // {} one after the other, {0} by place and {name}; no further format.
  Value formatted() {
    Text result;
    std::size_t automatic = 0;
    const std::string& bytes = text_.bytes;
    for (std::size_t at = 0; at < bytes.size();) {
      const bool doubled = at + 1 < bytes.size() && bytes[at] == bytes[at + 1];
      if ((bytes[at] == '{' || bytes[at] == '}') && doubled) {
        result.append(text_, at, at + 1);
        at += 2;
      } else if (bytes[at] == '{') {
        const std::size_t end = bytes.find('}', at);
        if (end == std::string::npos) fail("the string of \"format\" has a { without its }");
        const Text value =
            str(field(std::string_view(bytes).substr(at + 1, end - at - 1), automatic), budget_);
        budget_.pay(value.size());
        result.append(value);
        at = end + 1;
      } else if (bytes[at] == '}') {
        fail("the string of \"format\" has a } without its {");
      } else {
        result.append(text_, at, at + 1);
        ++at;
      }
    }
    return result;
  }
  const Value& field(std::string_view name, std::size_t& automatic) const {
    const bool is_place = std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (name.find_first_of("!:.[") != std::string_view::npos || (is_place && name.size() > 3))
      fail("uses the format {", io::shown(name), "}, which attend does not have");
    std::size_t place = std::numeric_limits<std::size_t>::max();
    if (name.empty()) {
      place = automatic++;
    } else if (is_place) {
      place = 0;
      for (const char c : name) place = place * 10 + static_cast<std::size_t>(c - '0');
    }
    const Value* const value = arguments_.find(place, name);
    if (value == nullptr) fail("\"format\" has no argument for {", io::shown(name), "}");
    return *value;
  }

  // Of ASCII; other letters count as letters.
  Value is_all() const {
    const auto all = [&](auto fits) {
      return !text_.empty() && std::all_of(text_.bytes.begin(), text_.bytes.end(), fits);
    };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (name_ == "isspace") {
      bool spaces = !text_.empty();
      for (std::size_t at = 0; at < text_.size();)
        spaces = is_python_space(io::next_char(text_.bytes, at)) && spaces;
      return spaces;
    }
    if (!std::all_of(text_.bytes.begin(), text_.bytes.end(), [](char c) { return (c & 0x80) == 0; }))
      fail("uses ", io::quoted(name_), " on letters that are not ASCII, which attend does not have");
    if (name_ == "isdigit") return all(digit);
    if (name_ == "isalpha") return all([&](char c) { return lower(c) || upper(c); });
    if (name_ == "isalnum") return all([&](char c) { return lower(c) || upper(c) || digit(c); });
    const bool any_lower = std::any_of(text_.bytes.begin(), text_.bytes.end(), lower);
    const bool any_upper = std::any_of(text_.bytes.begin(), text_.bytes.end(), upper);
    return name_ == "islower" ? any_lower && !any_upper : any_upper && !any_lower;
  }

  const Text& text_;
  std::string_view name_;
  const Arguments& arguments_;
  Budget& budget_;
};

Value call_dict_method(const Value& value, std::string_view name, const Arguments& arguments,
                       Budget& budget) {
  const Dictionary& dict = *value.dictionary();
  budget.pay(dict.items.size() * 32 + 64);
  if (name == "get") {
    const Value *const key = arguments.find(0, "key"), *const usual = arguments.find(1, "default");
    if (key == nullptr) fail("the method \"get\" needs a key");
    const Value* const found = dict.find(*key, budget);
    return found != nullptr ? *found : usual != nullptr ? *usual : Value();
  }
  Values items;
  for (const auto& [key, item] : dict.items)
    items.push_back(name == "keys"     ? key
                    : name == "values" ? item
                                       : Value::list({key, item}, SequenceKind::tuple));
  if (name == "copy") return value;
  return Value::list(std::move(items), SequenceKind::view);
}

Value call_list_method(const Value& value, std::string_view name, const Arguments& arguments,
                       Budget& budget) {
  if (arguments.values.size() != 1) fail("the method ", io::quoted(name), " of a list takes one argument");
  std::int64_t count = 0;
  const Values& items = value.sequence()->items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!equal(items[i], arguments.values[0], budget)) continue;
    if (name == "index") return static_cast<std::int64_t>(i);
    ++count;
  }
  if (name == "index") fail("a list does not have the item that \"index\" looks for");
  return count;
}

}  // namespace

std::int64_t whole(const Value& value, std::string_view name) {
  if (!value.is<bool>() && !value.is<std::int64_t>())
    fail(io::quoted(name), " is given ", value.kind_name(), ", expected a whole number");
  return value.integer();
}

const Text& text_of(const Value& value, std::string_view name) {
  if (value.text() == nullptr) fail(io::quoted(name), " is given ", value.kind_name(), ", expected a string");
  return *value.text();
}

bool is_method(std::string_view name) {
  return has(kCallable, name) || has(kChanging, name) || name == "values" || name == "copy";
}

bool has_method(const Value& value, std::string_view name) {
  if (value.text() != nullptr) return has(kStringMethods, name);
  if (value.dictionary() != nullptr) return has(kDictMethods, name);
  if (value.sequence() != nullptr) {
    switch (value.sequence()->kind) {
      case SequenceKind::list:
        return has(kListMethods, name);
      case SequenceKind::view:
        return false;
      default:
        return name == "count" || name == "index";
    }
  }
  return false;
}

Value call_method(const Value& value, std::string_view name, const Arguments& arguments, Setting& setting) {
  if (value.is_undefined()) fail(value.kind_name(), " has no method ", io::quoted(name));
  if (const auto* const loop = value.get_if<std::shared_ptr<const Loop>>()) {
    if (name != "cycle" || arguments.values.empty()) fail("a loop has no method ", io::quoted(name));
    return arguments.values[(*loop)->index % arguments.values.size()];
  }
  if (!has_method(value, name)) fail(value.kind_name(), " has no method ", io::quoted(name));
  if (value.text() != nullptr) return StringMethod(*value.text(), name, arguments, setting.budget).call();
  if (has(kChanging, name)) fail("calls ", io::quoted(name), ", and templates may not change values");
  if (value.dictionary() != nullptr) return call_dict_method(value, name, arguments, setting.budget);
  if (name == "copy") return value;
  return call_list_method(value, name, arguments, setting.budget);
}

}  // namespace attend::chat
