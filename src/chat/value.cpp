#include "chat/value.h"

#include <algorithm>
#include <cmath>

#include "io/fail.h"
#include "io/utf8.h"

namespace attend::chat {
namespace {

int depth_of(const Values& items) {
  int deepest = 0;
  for (const Value& item : items) deepest = std::max(deepest, item.depth());
  if (deepest >= kDeepestValue) fail("lists are nested more than ", kDeepestValue, " deep");
  return deepest + 1;
}

}  // namespace

Value Value::undefined(std::string_view name) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(name)};
  return value;
}

Value Value::list(Values items, SequenceKind kind) {
  Value value;
  const int depth = depth_of(items);
  value.data_ = std::make_shared<const Sequence>(Sequence{std::move(items), kind, depth});
  return value;
}

Value Value::stream(Values items) {
  const int depth = depth_of(items);
  auto shared = std::make_shared<const Sequence>(Sequence{std::move(items), SequenceKind::list, depth});
  return Value(std::make_shared<Stream>(Stream{std::move(shared), 0}));
}

Value Value::method(const Value& owner, std::string_view name) {
  Value value;
  value.data_ = std::make_shared<const Method>(Method{owner, std::string(name)});
  return value;
}

Value Value::dict(std::vector<std::pair<Value, Value>> items) {
  Budget budget;
  Dictionary made;
  for (auto& [key, item] : items) {
    if (!key.text() && !key.is_number() && !key.is_none()) fail(key.kind_name(), " is the key of a dict");
    made.depth = std::max(made.depth, item.depth() + 1);
    const auto same = std::find_if(made.items.begin(), made.items.end(),
                                   [&](const auto& other) { return equal(other.first, key, budget); });
    if (same != made.items.end()) {
      same->second = std::move(item);
    } else {
      made.items.emplace_back(std::move(key), std::move(item));
    }
  }
  if (made.depth > kDeepestValue) fail("dicts are nested more than ", kDeepestValue, " deep");
  Value value;
  value.data_ = std::make_shared<const Dictionary>(std::move(made));
  return value;
}

const Text* Value::text() const noexcept {
  const auto* const held = get_if<std::shared_ptr<const Text>>();
  return held != nullptr ? held->get() : nullptr;
}
const Sequence* Value::sequence() const noexcept {
  const auto* const held = get_if<std::shared_ptr<const Sequence>>();
  return held != nullptr ? held->get() : nullptr;
}
const Dictionary* Value::dictionary() const noexcept {
  const auto* const held = get_if<std::shared_ptr<const Dictionary>>();
  return held != nullptr ? held->get() : nullptr;
}

std::int64_t Value::integer() const noexcept {
  if (const bool* const truth = get_if<bool>()) return *truth ? 1 : 0;
  return *get_if<std::int64_t>();
}
double Value::number() const noexcept {
  if (const double* const real = get_if<double>()) return *real;
  return static_cast<double>(integer());
}

bool Value::truth() const {
  if (is_undefined() || is_none()) return false;
  if (is_number()) return number() != 0;
  if (text() != nullptr) return !text()->empty();
  if (sequence() != nullptr) return !sequence()->items.empty();
  if (dictionary() != nullptr) return !dictionary()->items.empty();
  return true;
}

int Value::depth() const noexcept {
  if (sequence() != nullptr) return sequence()->depth;
  if (dictionary() != nullptr) return dictionary()->depth;
  if (const auto* const stream = get_if<std::shared_ptr<Stream>>()) return (*stream)->items->depth;
  if (const auto* const loop = get_if<std::shared_ptr<const Loop>>()) return (*loop)->items->depth;
  if (const auto* const method = get_if<std::shared_ptr<const Method>>()) return (*method)->owner.depth() + 1;
  return 0;
}

std::string Value::kind_name() const {
  if (const Undefined* const missing = get_if<Undefined>())
    return io::quoted(*missing->name) + ", which is undefined,";
  constexpr const char* kNames[] = {"",         "none",    "a truth value", "a whole number", "a number",
                                    "a string", "a list",  "a dict",        "a namespace",    "an iterator",
                                    "a loop",   "a macro", "a function",    "a method"};
  return kNames[data_.index()];
}

const Value* Dictionary::find(std::string_view key) const {
  for (const auto& [name, value] : items) {
    if (name.text() != nullptr && name.text()->bytes == key) return &value;
  }
  return nullptr;
}

const Value* Dictionary::find(const Value& key, Budget& budget) const {
  for (const auto& [name, value] : items) {
    if (equal(name, key, budget)) return &value;
  }
  return nullptr;
}

bool equal(const Value& a, const Value& b, Budget& budget) {
  budget.pay(8);
  if (a.is_number() && b.is_number()) {
    if (!a.is<double>() && !b.is<double>()) return a.integer() == b.integer();
    return a.number() == b.number();
  }
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.text() && b.text()) {
    budget.pay(a.text()->size() / 8);
    return a.text()->bytes == b.text()->bytes;
  }
  if (a.sequence() && b.sequence()) {
    const Sequence &left = *a.sequence(), &right = *b.sequence();
    if (left.kind != right.kind || left.items.size() != right.items.size()) return false;
    for (std::size_t i = 0; i < left.items.size(); ++i) {
      if (!equal(left.items[i], right.items[i], budget)) return false;
    }
    return true;
  }
  if (a.dictionary() && b.dictionary()) {
    const Dictionary &left = *a.dictionary(), &right = *b.dictionary();
    if (left.items.size() != right.items.size()) return false;
    for (const auto& [key, value] : left.items) {
      const Value* const other = right.find(key, budget);
      if (other == nullptr || !equal(value, *other, budget)) return false;
    }
    return true;
  }
  if (a.is<Namespace*>() && b.is<Namespace*>()) return *a.get_if<Namespace*>() == *b.get_if<Namespace*>();
  return false;
}

int compare(const Value& a, const Value& b, Budget& budget) {
  budget.pay(8);
  if (a.is_number() && b.is_number()) {
    if (!a.is<double>() && !b.is<double>())
      return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
    return a.number() < b.number() ? -1 : a.number() > b.number() ? 1 : 0;
  }
  if (a.text() && b.text()) {  // the order of UTF-8 is that of its characters
    budget.pay(a.text()->size() / 8);
    return a.text()->bytes.compare(b.text()->bytes);
  }
  if (a.sequence() && b.sequence() && a.sequence()->kind == b.sequence()->kind) {
    const Values &left = a.sequence()->items, &right = b.sequence()->items;
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (!equal(left[i], right[i], budget)) return compare(left[i], right[i], budget);
    }
    return left.size() < right.size() ? -1 : left.size() > right.size() ? 1 : 0;
  }
  fail(a.kind_name(), " and ", b.kind_name(), " have no order");
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  if (const Text* const text = container.text()) {
    if (item.text() == nullptr) fail("`in` looks for ", item.kind_name(), " in a string");
    budget.pay(text->size() + text->size() * item.text()->size() / 64);
    return text->bytes.find(item.text()->bytes) != std::string::npos;
  }
  if (const Dictionary* const dict = container.dictionary()) return dict->find(item, budget) != nullptr;
  if (container.is_number() || container.is_none())
    fail("`in` looks for something in ", container.kind_name());
  for (const Value& one : items_of(container, budget)) {
    if (equal(one, item, budget)) return true;
  }
  return false;
}

std::shared_ptr<const Sequence> iterated(const Value& value, Budget& budget) {
  if (const auto* const items = value.get_if<std::shared_ptr<const Sequence>>()) return *items;
  Sequence made;
  if (const auto* const held = value.get_if<std::shared_ptr<Stream>>()) {
    Stream& stream = **held;
    if (stream.next == 0) {
      stream.next = stream.items->items.size();
      return stream.items;
    }
    made.items.assign(stream.items->items.begin() + static_cast<std::ptrdiff_t>(stream.next),
                      stream.items->items.end());
    stream.next = stream.items->items.size();
  } else if (const Dictionary* const dict = value.dictionary()) {
    for (const auto& [key, unused] : dict->items) made.items.push_back(key);
  } else if (const Text* const text = value.text()) {
    budget.pay(text->size() * 32);
    for (Text& character : characters_of(*text)) made.items.emplace_back(std::move(character));
  } else if (!value.is_undefined()) {
    fail(value.kind_name(), " has nothing to go through");
  }
  budget.pay(made.items.size() * 32);
  made.depth = depth_of(made.items);
  return std::make_shared<const Sequence>(std::move(made));
}

}  // namespace attend::chat
