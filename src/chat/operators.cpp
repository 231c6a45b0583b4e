// Arithmetic, items, attributes and slices, as Python has them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "chat/library.h"
#include "io/fail.h"
#include "io/utf8.h"

namespace attend::chat {
namespace {

[[noreturn]] void too_large() { fail("a number is larger than 64 bits"); }

Value whole_arithmetic(std::string_view sign, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  if (sign == "+") {
    overflows = __builtin_add_overflow(a, b, &result);
  } else if (sign == "-") {
    overflows = __builtin_sub_overflow(a, b, &result);
  } else if (sign == "*") {
    overflows = __builtin_mul_overflow(a, b, &result);
  } else if (sign == "**") {
    if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
    if (b > 64 && (a < -1 || a > 1)) too_large();
    result = 1;
    const std::int64_t times = a >= -1 && a <= 1 ? b % 2 + (b > 0 ? 2 : 0) : b;  // 0, 1 and -1 only alternate
    for (std::int64_t i = 0; i < times && !overflows; ++i)
      overflows = __builtin_mul_overflow(result, a, &result);
  } else {
    if (b == 0) fail("a number is divided by zero");
    if (sign == "/") return static_cast<double>(a) / static_cast<double>(b);
    if (a == std::numeric_limits<std::int64_t>::min() && b == -1) too_large();
    const std::int64_t rest = a % b;
    const bool rounds_down = rest != 0 && (rest < 0) != (b < 0);
    result = sign == "//" ? a / b - (rounds_down ? 1 : 0) : rest + (rounds_down ? b : 0);
  }
  if (overflows) too_large();
  return result;
}

Value real_arithmetic(std::string_view sign, double a, double b) {
  if (sign == "+") return a + b;
  if (sign == "-") return a - b;
  if (sign == "*") return a * b;
  if (sign == "**") return std::pow(a, b);
  if (b == 0) fail("a number is divided by zero");
  if (sign == "/") return a / b;
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return sign == "%" ? rest : std::floor((a - rest) / b + 0.5);
}

// What + does to a string that the filter `safe` did not see when the other one is of that filter.
Text escaped(const Text& text) {
  if (text.is_safe) return text;
  Text result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    constexpr std::string_view kSigns = "&<>'\"";
    constexpr std::string_view kNames[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const std::size_t sign = kSigns.find(text.bytes[at]);
    if (sign == std::string_view::npos) {
      result.append(text, at, at + 1);
    } else {
      result.append(kNames[sign], text.is_given(at));
    }
  }
  return result;
}

Value repeated(const Value& value, std::int64_t times, Budget& budget) {
  const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(times, 0, 1 << 30));
  if (const Text* const text = value.text()) {
    Text result;
    for (std::size_t i = 0; i < count; ++i) {
      budget.pay(text->size() + 1);
      result.append(*text);
    }
    return result;
  }
  Values items;
  for (std::size_t i = 0; i < count; ++i) {
    budget.pay(value.sequence()->items.size() * 32 + 1);
    items.insert(items.end(), value.sequence()->items.begin(), value.sequence()->items.end());
  }
  return Value::list(std::move(items), value.sequence()->kind);
}

bool can_repeat(const Value& value) {
  return value.text() != nullptr ||
         (value.sequence() != nullptr && value.sequence()->kind <= SequenceKind::tuple);
}

bool is_whole(const Value& value) { return value.is<bool>() || value.is<std::int64_t>(); }

}  // namespace

Value arithmetic(std::string_view sign, const Value& a, const Value& b, Budget& budget) {
  if (a.is_number() && b.is_number()) {
    if (is_whole(a) && is_whole(b)) return whole_arithmetic(sign, a.integer(), b.integer());
    return real_arithmetic(sign, a.number(), b.number());
  }
  if (sign == "+" && a.text() && b.text()) {
    const bool safe = a.text()->is_safe || b.text()->is_safe;
    budget.pay((a.text()->size() + b.text()->size()) * (safe ? 8 : 1));
    Text result = safe ? escaped(*a.text()) : *a.text();
    result.append(safe ? escaped(*b.text()) : *b.text());
    result.is_safe = safe;
    return result;
  }
  if (sign == "+" && a.sequence() && b.sequence() && a.sequence()->kind == b.sequence()->kind &&
      can_repeat(a)) {
    Values items = a.sequence()->items;
    items.insert(items.end(), b.sequence()->items.begin(), b.sequence()->items.end());
    budget.pay(items.size() * 32);
    return Value::list(std::move(items), a.sequence()->kind);
  }
  if (sign == "*" && can_repeat(a) && is_whole(b)) return repeated(a, b.integer(), budget);
  if (sign == "*" && is_whole(a) && can_repeat(b)) return repeated(b, a.integer(), budget);
  if (sign == "%" && a.text() != nullptr) fail("uses % on a string, which attend does not have");
  fail("uses ", sign, " on ", a.kind_name(), " and ", b.kind_name());
}

Value item_of(const Value& value, const Value& key, Budget& budget) {
  const std::string name = key.text() != nullptr ? key.text()->bytes : str(key, budget).bytes;
  const auto missing = [&] { return Value::undefined(name); };
  if (value.is_undefined()) fail(value.kind_name(), " has no items");
  if (const Dictionary* const dict = value.dictionary()) {
    if (const Value* const found = dict->find(key, budget)) return *found;
  } else if (is_whole(key)) {
    const std::int64_t index = key.integer();
    const auto place_in = [&](std::size_t size) {
      const auto count = static_cast<std::int64_t>(size);
      const std::int64_t place = index < 0 ? index + count : index;
      return place < 0 || place >= count ? -1 : place;
    };
    if (const Sequence* const list = value.sequence()) {
      if (list->kind == SequenceKind::view) return missing();
      const std::int64_t place = place_in(list->items.size());
      return place < 0 ? missing() : list->items[static_cast<std::size_t>(place)];
    }
    if (const Text* const text = value.text()) {
      budget.pay(text->size() / 4);
      const std::int64_t place = place_in(io::count_chars(text->bytes));
      if (place < 0) return missing();
      std::size_t begin = 0;
      for (std::int64_t i = 0; i < place; ++i) io::next_char(text->bytes, begin);
      std::size_t end = begin;
      io::next_char(text->bytes, end);
      return text->part(begin, end);
    }
    return missing();
  }
  if (key.text() == nullptr) return missing();
  return has_method(value, name) ? Value::method(value, name) : attribute_of(value, name, budget);
}

namespace {

Value loop_attribute(const Loop& loop, std::string_view name) {
  const auto at = static_cast<std::int64_t>(loop.index), count = std::ssize(loop.items->items);
  const auto item = [&](std::int64_t place) {
    return place < 0 || place >= count ? Value::undefined(name)
                                       : loop.items->items[static_cast<std::size_t>(place)];
  };
  if (name == "index0") return at;
  if (name == "index") return at + 1;
  if (name == "first") return at == 0;
  if (name == "last") return at + 1 == count;
  if (name == "length") return count;
  if (name == "revindex") return count - at;
  if (name == "revindex0") return count - at - 1;
  if (name == "previtem") return item(at - 1);
  if (name == "nextitem") return item(at + 1);
  if (name == "depth") return std::int64_t{1};  // which counts recursive loops only
  if (name == "depth0") return std::int64_t{0};
  return Value::undefined(name);
}

}  // namespace

Value attribute_of(const Value& value, std::string_view name, Budget& budget) {
  if (value.is_undefined()) fail(value.kind_name(), " has no attribute ", io::quoted(name));
  if (const auto* const space = value.get_if<Namespace*>()) {
    const auto found = (*space)->values.find(name);
    return found == (*space)->values.end() ? Value::undefined(name) : found->second;
  }
  if (const auto* const loop = value.get_if<std::shared_ptr<const Loop>>())
    return loop_attribute(**loop, name);
  if (has_method(value, name)) return Value::method(value, name);
  if (const Dictionary* const dict = value.dictionary()) {
    budget.pay(dict->items.size());
    if (const Value* const found = dict->find(name)) return *found;
  }
  return Value::undefined(name);
}

Value slice_of(const Value& value, const Value& begin, const Value& end, const Value& step, Budget& budget) {
  if (value.is_undefined()) fail(value.kind_name(), " has no items");
  const auto bound = [](const Value& given, std::int64_t usual) {
    if (given.is_none()) return usual;
    if (!is_whole(given)) fail("a slice is from or to ", given.kind_name());
    return given.integer();
  };
  const std::int64_t stride = bound(step, 1);
  if (stride == 0) fail("a slice has a step of 0");
  if (value.text() == nullptr && value.sequence() == nullptr) fail(value.kind_name(), " is sliced");
  if (value.sequence() != nullptr && value.sequence()->kind == SequenceKind::view)
    fail("a view of a dict is sliced");
  std::vector<Text> characters;
  if (const Text* const text = value.text()) {
    budget.pay(text->size() * 32);
    characters = characters_of(*text);
  }
  const std::int64_t count =
      value.text() != nullptr ? std::ssize(characters) : std::ssize(value.sequence()->items);
  const std::int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? count : count - 1;
  const auto placed = [&](const Value& given, std::int64_t usual) {
    const std::int64_t at = bound(given, usual);
    if (given.is_none()) return at;
    return std::clamp(at < 0 ? std::max(at, -count - 1) + count : at, low, high);
  };
  const std::int64_t from = placed(begin, stride > 0 ? 0 : count - 1),
                     to = placed(end, stride > 0 ? count : -1);
  Text text;
  Values items;
  std::int64_t at = from;
  while (stride > 0 ? at < to : at > to) {
    budget.pay(32);
    if (value.text() != nullptr) {
      text.append(characters[static_cast<std::size_t>(at)]);
    } else {
      items.push_back(value.sequence()->items[static_cast<std::size_t>(at)]);
    }
    if (__builtin_add_overflow(at, stride, &at)) break;
  }
  if (value.text() != nullptr) return text;
  return Value::list(std::move(items), value.sequence()->kind);
}

}  // namespace attend::chat
