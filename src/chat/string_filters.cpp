#include "chat/string_filters.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "io/utf8.h"

namespace attend::chat {
namespace {

Text paid_text(const Value& value, Setting& setting) {
  Text text = str(value, setting.budget);
  setting.budget.pay(text.size());
  return text;
}

// A number in a string, as Python's int() and float() read it: with white space around, and underscores.
std::string plain_number(const Text& text) {
  std::string digits;
  for (const char c : strip(text, nullptr, true, true).bytes) {
    if (c != '_') digits += c;
  }
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.erase(0, 1);
  return digits;
}

std::optional<double> read_real(const Text& text) {
  const std::string digits = plain_number(text);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> read_whole(const Text& text, int base) {
  std::string digits = plain_number(text);
  const std::string_view prefix = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
  if (!prefix.empty() && (digits.starts_with(prefix) || digits.starts_with(base == 16 ? "0X" : prefix)))
    digits.erase(0, 2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error == std::errc::result_out_of_range) fail("a number is larger than 64 bits");
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> cut_to_whole(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (std::abs(value) >= 9.2e18) fail("a number is larger than 64 bits");
  return static_cast<std::int64_t>(value);
}

}  // namespace

Text replace_paid(const Text& text, const Text& from, const Text& to, std::int64_t most, Budget& budget) {
  std::size_t count = io::count_chars(text.bytes) + 1;
  if (!from.empty()) {
    count = 0;
    for (std::size_t at = text.bytes.find(from.bytes); at != std::string::npos;
         at = text.bytes.find(from.bytes, at + from.size()))
      ++count;
  }
  budget.pay(text.size() + count * to.size());
  return replaced(text, from, to, static_cast<std::ptrdiff_t>(most));
}

Value filter_trim(const Value& value, const Arguments& arguments, Setting& setting) {
  const Value* const characters = arguments.find(0, "chars");
  const bool given = characters != nullptr && !characters->is_none();
  return strip(paid_text(value, setting), given ? &text_of(*characters, "trim") : nullptr, true, true);
}

Value filter_upper(const Value& value, const Arguments&, Setting& setting) {
  return with_case(paid_text(value, setting), Case::upper);
}
Value filter_lower(const Value& value, const Arguments&, Setting& setting) {
  return with_case(paid_text(value, setting), Case::lower);
}
Value filter_title(const Value& value, const Arguments&, Setting& setting) {
  return titled_words(paid_text(value, setting));
}
Value filter_capitalize(const Value& value, const Arguments&, Setting& setting) {
  return capitalized(paid_text(value, setting));
}
Value filter_string(const Value& value, const Arguments&, Setting& setting) {
  return paid_text(value, setting);
}

Value filter_safe(const Value& value, const Arguments&, Setting& setting) {
  Text text = paid_text(value, setting);
  text.is_safe = true;
  return text;
}

Value filter_replace(const Value& value, const Arguments& arguments, Setting& setting) {
  const Value *const from = arguments.find(0, "old"), *const to = arguments.find(1, "new");
  const Value* const count = arguments.find(2, "count");
  if (from == nullptr || to == nullptr) fail("the filter \"replace\" needs two arguments");
  const bool limited = count != nullptr && !count->is_none();
  const Text text = paid_text(value, setting), old = paid_text(*from, setting);
  setting.budget.pay(text.size() * old.size() / 64);
  return replace_paid(text, old, paid_text(*to, setting), limited ? whole(*count, "count") : -1,
                      setting.budget);
}

Value filter_indent(const Value& value, const Arguments& arguments, Setting& setting) {
  const Value *const width = arguments.find(0, "width"), *const first = arguments.find(1, "first");
  const Value* const blank = arguments.find(2, "blank");
  Text margin;
  if (width != nullptr && width->text() != nullptr) {
    margin = *width->text();
  } else {
    const std::int64_t spaces = width != nullptr ? whole(*width, "width") : 4;
    if (spaces > 1000) fail("the filter \"indent\" is asked for ", spaces, " spaces");
    margin.append(std::string(static_cast<std::size_t>(std::max<std::int64_t>(spaces, 0)), ' '));
  }
  const bool blank_too = blank != nullptr && blank->truth();
  Text text = paid_text(value, setting);
  text.append("\n");
  setting.budget.pay(text.size() * 16);
  const std::vector<Text> lines = split_lines(text);
  Text result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    setting.budget.pay(margin.size() + lines[i].size() + 16);
    if (i > 0) result.append("\n");
    const bool indented = i == 0 ? first != nullptr && first->truth() : blank_too || !lines[i].empty();
    if (indented) result.append(margin);
    result.append(lines[i]);
  }
  return result;
}

Value filter_tojson(const Value& value, const Arguments& arguments, Setting& setting) {
  JsonOptions options;
  const auto flag = [&](std::size_t place, std::string_view name) {
    const Value* const given = arguments.find(place, name);
    return given != nullptr && given->truth();
  };
  options.ensure_ascii = flag(0, "ensure_ascii");
  options.sort_keys = flag(3, "sort_keys");
  const Value *const indent = arguments.find(1, "indent"), *const separators =
                                                               arguments.find(2, "separators");
  if (indent != nullptr && !indent->is_none()) {
    options.indent = Text();
    if (indent->text() != nullptr) {
      options.indent = *indent->text();
    } else {
      const std::int64_t spaces = whole(*indent, "indent");
      if (spaces > 1000) fail("the filter \"tojson\" is asked for an indent of ", spaces);
      options.indent->append(std::string(static_cast<std::size_t>(std::max<std::int64_t>(spaces, 0)), ' '));
    }
  }
  options.item_separator = Text(options.indent ? "," : ", ");
  options.key_separator = Text(": ");
  if (separators != nullptr && !separators->is_none()) {
    const Sequence* const both = separators->sequence();
    if (both == nullptr || both->items.size() != 2) fail("`separators` of \"tojson\" are not two strings");
    options.item_separator = text_of(both->items[0], "separators");
    options.key_separator = text_of(both->items[1], "separators");
  }
  return to_json(value, options, setting.budget);
}

Value filter_int(const Value& value, const Arguments& arguments, Setting& setting) {
  setting.budget.step();
  const Value *const usual = arguments.find(0, "default"), *const base = arguments.find(1, "base");
  std::optional<std::int64_t> number;
  if (const Text* const text = value.text()) {
    const std::int64_t radix = base != nullptr ? whole(*base, "base") : 10;
    if (radix < 2 || radix > 36) fail("the base of \"int\" is ", radix);
    number = read_whole(*text, static_cast<int>(radix));
    if (!number) {
      if (const auto real = read_real(*text)) number = cut_to_whole(*real);
    }
  } else if (value.is<double>()) {
    number = cut_to_whole(value.number());
  } else if (value.is_number()) {
    number = value.integer();
  } else if (value.is_undefined()) {
    fail(value.kind_name(), " is not a number");
  }
  return number ? Value(*number) : usual != nullptr ? *usual : Value(std::int64_t{0});
}

Value filter_float(const Value& value, const Arguments& arguments, Setting& setting) {
  setting.budget.step();
  const Value* const usual = arguments.find(0, "default");
  if (value.is_number()) return value.number();
  if (value.is_undefined()) fail(value.kind_name(), " is not a number");
  if (const Text* const text = value.text()) {
    if (const auto number = read_real(*text)) return *number;
  }
  return usual != nullptr ? *usual : Value(0.0);
}

Value filter_abs(const Value& value, const Arguments&, Setting&) {
  if (!value.is_number()) fail("the filter \"abs\" is given ", value.kind_name());
  if (value.is<double>()) return std::abs(value.number());
  if (value.integer() == std::numeric_limits<std::int64_t>::min()) fail("a number is larger than 64 bits");
  return std::abs(value.integer());
}

Value filter_round(const Value& value, const Arguments& arguments, Setting&) {
  if (!value.is_number()) fail("the filter \"round\" is given ", value.kind_name());
  const Value *const digits = arguments.find(0, "precision"), *const method = arguments.find(1, "method");
  const std::string how = method != nullptr ? text_of(*method, "method").bytes : "common";
  const double scale =
      std::pow(10.0, static_cast<double>(digits != nullptr ? whole(*digits, "precision") : 0));
  const double scaled = value.number() * scale;
  if (how == "ceil") return std::ceil(scaled) / scale;
  if (how == "floor") return std::floor(scaled) / scale;
  if (how != "common") fail("the method of \"round\" is not common, ceil or floor");
  if (!value.is<double>() && scale == 1) return value;  // Python's round() leaves whole numbers whole
  return std::nearbyint(scaled) / scale;
}

}  // namespace attend::chat
