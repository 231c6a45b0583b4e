// Filters of lists and dicts, and the table of all filters.
#include <algorithm>
#include <functional>

#include "chat/library.h"
#include "chat/string_filters.h"
#include "io/fail.h"
#include "io/utf8.h"

namespace attend::chat {
namespace {

Value filter_length(const Value& value, const Arguments&, Setting& setting) {
  setting.budget.step();
  if (value.is_undefined()) return std::int64_t{0};
  if (const Text* const text = value.text()) {
    setting.budget.pay(text->size() / 4);
    return static_cast<std::int64_t>(io::count_chars(text->bytes));
  }
  if (value.sequence() != nullptr) return std::ssize(value.sequence()->items);
  if (value.dictionary() != nullptr) return std::ssize(value.dictionary()->items);
  fail("the filter \"length\" is given ", value.kind_name());
}

Value filter_default(const Value& value, const Arguments& arguments, Setting&) {
  const Value *const usual = arguments.find(0, "default_value"), *const boolean =
                                                                     arguments.find(1, "boolean");
  const bool missing = value.is_undefined() || (boolean != nullptr && boolean->truth() && !value.truth());
  if (!missing) return value;
  return usual != nullptr ? *usual : Value("");
}

Value filter_list(const Value& value, const Arguments&, Setting& setting) {
  const auto items = iterated(value, setting.budget);
  setting.budget.pay(items->items.size() * 32);
  return Value::list(items->items);
}

Value filter_items(const Value& value, const Arguments&, Setting& setting) {
  Values items;
  if (!value.is_undefined()) {
    if (value.dictionary() == nullptr) fail("the filter \"items\" is given ", value.kind_name());
    for (const auto& [key, item] : value.dictionary()->items) {
      setting.budget.pay(64);
      items.push_back(Value::list({key, item}, SequenceKind::tuple));
    }
  }
  return Value::stream(std::move(items));
}

Value filter_first(const Value& value, const Arguments&, Setting& setting) {
  if (const auto* const held = value.get_if<std::shared_ptr<Stream>>()) {
    Stream& stream = **held;
    if (stream.next < stream.items->items.size()) return stream.items->items[stream.next++];
    return Value::undefined("first");
  }
  const auto items = iterated(value, setting.budget);
  return items->items.empty() ? Value::undefined("first") : items->items.front();
}

Value filter_last(const Value& value, const Arguments&, Setting& setting) {
  if (value.is<std::shared_ptr<Stream>>()) fail("the filter \"last\" is given ", value.kind_name());
  const auto items = iterated(value, setting.budget);
  return items->items.empty() ? Value::undefined("last") : items->items.back();
}

// "a.b.0": an attribute of an attribute of each item.
// What is missing on the way is `usual`, where that is given.
Value item_at_path(const Value& item, const Value& path, Setting& setting, const Value* usual = nullptr) {
  if (path.text() == nullptr) return item_of(item, path, setting.budget);
  Value found = item;
  const Text dot(".");
  for (const Text& part : split(*path.text(), &dot, -1, false)) {
    setting.budget.step();
    const bool number =
        !part.empty() && part.size() < 10 &&
        std::all_of(part.bytes.begin(), part.bytes.end(), [](char c) { return c >= '0' && c <= '9'; });
    // As jinja's environment.getitem: an item first, then an attribute.
    found = item_of(found, number ? Value(std::int64_t{std::stol(part.bytes)}) : Value(part), setting.budget);
    if (found.is_undefined() && usual != nullptr) found = *usual;
  }
  return found;
}

Value filter_join(const Value& value, const Arguments& arguments, Setting& setting) {
  const Value *const between = arguments.find(0, "d"), *const path = arguments.find(1, "attribute");
  const Text separator = between != nullptr ? str(*between, setting.budget) : Text();
  Text result;
  bool first = true;
  for (const Value& item : items_of(value, setting.budget)) {
    const bool has_path = path != nullptr && !path->is_none();
    const Text piece = str(has_path ? item_at_path(item, *path, setting) : item, setting.budget);
    setting.budget.pay(piece.size() + separator.size() + 8);
    if (!first) result.append(separator);
    first = false;
    result.append(piece);
  }
  return result;
}

const Test& named_test(const Value& name) {
  const Test* const test = find_test(text_of(name, "test").bytes);
  if (test == nullptr) fail("uses the test ", io::quoted(name.text()->bytes), ", which attend does not have");
  return *test;
}

// selectattr, rejectattr, select and reject: keeps the items, or those whose attribute, for which a test
// holds.
Value selected(const Value& value, const Arguments& arguments, Setting& setting, bool by_attribute,
               bool wanted) {
  std::size_t next = 0;
  const Value* path = nullptr;
  if (by_attribute) {
    if (arguments.values.empty()) fail("a filter that selects needs the name of an attribute");
    path = &arguments.values[next++];
  }
  const Test* const test = next < arguments.values.size() ? &named_test(arguments.values[next++]) : nullptr;
  Arguments rest;
  rest.values.assign(arguments.values.begin() + static_cast<std::ptrdiff_t>(next), arguments.values.end());
  if (test != nullptr && rest.values.size() != test->arguments)
    fail("the test ", io::quoted(test->name), " takes ", test->arguments, " arguments");
  Values kept;
  if (!value.truth()) return Value::stream({});  // also of what is no list, such as none
  for (const Value& item : items_of(value, setting.budget)) {
    setting.budget.step();
    const Value looked_at = by_attribute ? item_at_path(item, *path, setting) : item;
    const bool holds = test != nullptr ? test->holds(looked_at, rest, setting.budget) : looked_at.truth();
    if (holds == wanted) kept.push_back(item);
  }
  return Value::stream(std::move(kept));
}

Value filter_selectattr(const Value& value, const Arguments& arguments, Setting& setting) {
  return selected(value, arguments, setting, true, true);
}
Value filter_rejectattr(const Value& value, const Arguments& arguments, Setting& setting) {
  return selected(value, arguments, setting, true, false);
}
Value filter_select(const Value& value, const Arguments& arguments, Setting& setting) {
  return selected(value, arguments, setting, false, true);
}
Value filter_reject(const Value& value, const Arguments& arguments, Setting& setting) {
  return selected(value, arguments, setting, false, false);
}

Value filter_map(const Value& value, const Arguments& arguments, Setting& setting) {
  Values made;
  if (!value.truth()) return Value::stream({});
  if (arguments.values.empty()) {
    const Value* const path = arguments.find(0, "attribute");
    const Value* const usual = arguments.find(1, "default");
    if (path == nullptr) fail("the filter \"map\" needs an attribute or the name of a filter");
    for (const Value& item : items_of(value, setting.budget)) {
      setting.budget.step();
      made.push_back(item_at_path(item, *path, setting, usual));
    }
    return Value::stream(std::move(made));
  }
  const std::string& name = text_of(arguments.values[0], "map").bytes;
  const Filter* const filter = find_filter(name);
  if (filter == nullptr) fail("uses the filter ", io::quoted(name), ", which attend does not have");
  if (name == "map") fail("the filter \"map\" maps itself");
  Arguments rest{.values = {arguments.values.begin() + 1, arguments.values.end()},
                 .keywords = arguments.keywords};
  for (const Value& item : items_of(value, setting.budget)) {
    setting.budget.step();
    made.push_back(filter->apply(item, rest, setting));
  }
  return Value::stream(std::move(made));
}

Value filter_reverse(const Value& value, const Arguments&, Setting& setting) {
  if (const Text* const text = value.text()) {
    setting.budget.pay(text->size());
    return reversed(*text);
  }
  Values items = iterated(value, setting.budget)->items;
  setting.budget.pay(items.size() * 32);
  std::reverse(items.begin(), items.end());
  return Value::stream(std::move(items));
}

// What is sorted or compared by: strings in lower case unless told otherwise.
Value sort_key(const Value& value, bool case_sensitive, Setting& setting) {
  if (case_sensitive || value.text() == nullptr) return value;
  setting.budget.pay(value.text()->size());
  return with_case(*value.text(), Case::lower);
}

bool flag_of(const Arguments& arguments, std::size_t place, std::string_view name) {
  const Value* const given = arguments.find(place, name);
  return given != nullptr && given->truth();
}

Values sorted(Values items, const std::function<Value(const Value&)>& key, bool reverse, Setting& setting) {
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : items) {
    setting.budget.pay(256);
    Value by = key(item);
    keyed.emplace_back(std::move(by), std::move(item));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    const int order = compare(a.first, b.first, setting.budget);
    return reverse ? order > 0 : order < 0;
  });
  Values result;
  for (auto& [by, item] : keyed) result.push_back(std::move(item));
  return result;
}

Value filter_sort(const Value& value, const Arguments& arguments, Setting& setting) {
  const Value* const path = arguments.find(2, "attribute");
  const bool sensitive = flag_of(arguments, 1, "case_sensitive");
  const auto key = [&](const Value& item) {
    const bool has_path = path != nullptr && !path->is_none();
    return sort_key(has_path ? item_at_path(item, *path, setting) : item, sensitive, setting);
  };
  return Value::list(
      sorted(iterated(value, setting.budget)->items, key, flag_of(arguments, 0, "reverse"), setting));
}

Value filter_dictsort(const Value& value, const Arguments& arguments, Setting& setting) {
  if (value.dictionary() == nullptr) fail("the filter \"dictsort\" is given ", value.kind_name());
  const Value* const by = arguments.find(1, "by");
  const bool by_value = by != nullptr && text_of(*by, "by").bytes == "value";
  const bool sensitive = flag_of(arguments, 0, "case_sensitive");
  Values items;
  for (const auto& [key, item] : value.dictionary()->items)
    items.push_back(Value::list({key, item}, SequenceKind::tuple));
  const auto key = [&](const Value& pair) {
    return sort_key(pair.sequence()->items[by_value ? 1 : 0], sensitive, setting);
  };
  return Value::list(sorted(std::move(items), key, flag_of(arguments, 2, "reverse"), setting));
}

Value filter_unique(const Value& value, const Arguments& arguments, Setting& setting) {
  Values kept, keys;
  for (const Value& item : items_of(value, setting.budget)) {
    Value key = sort_key(item, flag_of(arguments, 0, "case_sensitive"), setting);
    const bool seen = std::any_of(keys.begin(), keys.end(),
                                  [&](const Value& other) { return equal(other, key, setting.budget); });
    if (seen) continue;
    keys.push_back(std::move(key));
    kept.push_back(item);
  }
  return Value::stream(std::move(kept));
}

Value extreme(const Value& value, const Arguments& arguments, Setting& setting, int sign) {
  const auto items = iterated(value, setting.budget);
  const bool sensitive = flag_of(arguments, 0, "case_sensitive");
  if (items->items.empty()) return Value::undefined("an empty list");
  const Value* best = &items->items.front();
  for (const Value& item : items->items) {
    const int order =
        compare(sort_key(item, sensitive, setting), sort_key(*best, sensitive, setting), setting.budget);
    if (order * sign > 0) best = &item;
  }
  return *best;
}
Value filter_min(const Value& value, const Arguments& arguments, Setting& setting) {
  return extreme(value, arguments, setting, -1);
}
Value filter_max(const Value& value, const Arguments& arguments, Setting& setting) {
  return extreme(value, arguments, setting, 1);
}

Value filter_sum(const Value& value, const Arguments& arguments, Setting& setting) {
  const Value *const path = arguments.find(0, "attribute"), *const start = arguments.find(1, "start");
  Value total = start != nullptr ? *start : Value(std::int64_t{0});
  for (const Value& item : items_of(value, setting.budget)) {
    const bool has_path = path != nullptr && !path->is_none();
    total = arithmetic("+", total, has_path ? item_at_path(item, *path, setting) : item, setting.budget);
  }
  return total;
}

constexpr Filter kFilters[] = {
    {"abs", "", filter_abs},
    {"capitalize", "", filter_capitalize},
    {"count", "", filter_length},
    {"d", "default_value boolean", filter_default},
    {"default", "default_value boolean", filter_default},
    {"dictsort", "case_sensitive by reverse", filter_dictsort},
    {"first", "", filter_first},
    {"float", "default", filter_float},
    {"indent", "width first blank", filter_indent},
    {"int", "default base", filter_int},
    {"items", "", filter_items},
    {"join", "d attribute", filter_join},
    {"last", "", filter_last},
    {"length", "", filter_length},
    {"list", "", filter_list},
    {"lower", "", filter_lower},
    {"map", "*", filter_map},
    {"max", "case_sensitive", filter_max},
    {"min", "case_sensitive", filter_min},
    {"reject", "*", filter_reject},
    {"rejectattr", "*", filter_rejectattr},
    {"replace", "old new count", filter_replace},
    {"reverse", "", filter_reverse},
    {"round", "precision method", filter_round},
    {"safe", "", filter_safe},
    {"select", "*", filter_select},
    {"selectattr", "*", filter_selectattr},
    {"sort", "reverse case_sensitive attribute", filter_sort},
    {"string", "", filter_string},
    {"sum", "attribute start", filter_sum},
    {"title", "", filter_title},
    {"tojson", "ensure_ascii indent separators sort_keys", filter_tojson},
    {"trim", "chars", filter_trim},
    {"unique", "case_sensitive", filter_unique},
    {"upper", "", filter_upper},
};

}  // namespace

const Filter* find_filter(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                         [&](const Filter& filter) { return filter.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace attend::chat
