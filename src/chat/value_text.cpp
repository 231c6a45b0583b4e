// Values as text: Python's str() and repr(), and JSON.
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "chat/value.h"
#include "io/utf8.h"

namespace attend::chat {
namespace {

std::string hex(char32_t c, int digits) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%0*x", digits, static_cast<unsigned>(c));
  return buffer.data();
}

bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

// In quotes, with what does not print as an escape.
void append_quoted(Text& out, const Text& text) {
  const bool doubled =
      text.bytes.find('\'') != std::string::npos && text.bytes.find('"') == std::string::npos;
  const char quote = doubled ? '"' : '\'';
  out.append(std::string_view(&quote, 1));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = io::next_char(text.bytes, at);
    std::string escape;
    if (c == '\\' || c == static_cast<char32_t>(quote)) {
      escape = {'\\', static_cast<char>(c)};
    } else if (c == '\n') {
      escape = "\\n";
    } else if (c == '\r') {
      escape = "\\r";
    } else if (c == '\t') {
      escape = "\\t";
    } else if (!is_printable(c)) {
      escape = c < 0x100 ? "\\x" + hex(c, 2) : c < 0x10000 ? "\\u" + hex(c, 4) : "\\U" + hex(c, 8);
    }
    if (escape.empty()) {
      out.append(text, begin, at);
    } else {
      out.append(escape, text.is_given(begin));
    }
  }
  out.append(std::string_view(&quote, 1));
}

void append_repr(Text& out, const Value& value, Budget& budget);

void append_items(Text& out, const Values& items, Budget& budget) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(", ");
    append_repr(out, items[i], budget);
  }
}

void append_repr(Text& out, const Value& value, Budget& budget) {
  budget.step();
  if (value.is_none()) {
    out.append("None");
  } else if (const bool* const truth = value.get_if<bool>()) {
    out.append(*truth ? "True" : "False");
  } else if (value.is<std::int64_t>()) {
    out.append(std::to_string(value.integer()));
  } else if (const double* const number = value.get_if<double>()) {
    out.append(number_text(*number));
  } else if (const Text* const text = value.text()) {
    budget.pay(text->size() * 4);
    append_quoted(out, *text);
  } else if (value.is_undefined()) {
    out.append("Undefined");
  } else if (const Sequence* const sequence = value.sequence()) {
    if (sequence->kind != SequenceKind::list && sequence->kind != SequenceKind::tuple)
      fail("a range or a view of a dict is written as text");
    const bool is_list = sequence->kind == SequenceKind::list;
    out.append(is_list ? "[" : "(");
    append_items(out, sequence->items, budget);
    out.append(is_list ? "]" : sequence->items.size() == 1 ? ",)" : ")");
  } else if (const Dictionary* const dict = value.dictionary()) {
    out.append("{");
    bool first = true;
    for (const auto& [key, item] : dict->items) {
      if (!first) out.append(", ");
      first = false;
      append_repr(out, key, budget);
      out.append(": ");
      append_repr(out, item, budget);
    }
    out.append("}");
  } else {
    fail(value.kind_name(), " is written as text");
  }
}

void append_json_string(Text& out, const Text& text, bool ensure_ascii) {
  const auto unit = [](char32_t c) { return "\\u" + hex(c, 4); };
  out.append("\"");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = io::next_char(text.bytes, at);
    std::string escape;
    constexpr std::string_view kEscaped = "\"\\\n\r\t\f\b", kLetters = "\"\\nrtfb";
    const std::size_t short_form = c < 0x80 ? kEscaped.find(static_cast<char>(c)) : std::string_view::npos;
    if (short_form != std::string_view::npos) {
      escape = {'\\', kLetters[short_form]};
    } else if (c < 0x20) {
      escape = unit(c);
    } else if (ensure_ascii && c > 0x7E) {
      escape = c == 0x7F     ? std::string("\x7F")
               : c < 0x10000 ? unit(c)
                             : unit(0xD800 + ((c - 0x10000) >> 10)) + unit(0xDC00 + ((c - 0x10000) & 0x3FF));
    }
    if (escape.empty()) {
      out.append(text, begin, at);
    } else {
      out.append(escape, text.is_given(begin));
    }
  }
  out.append("\"");
}

class JsonWriter {
 public:
  JsonWriter(const JsonOptions& options, Budget& budget) : options_(options), budget_(budget) {}

  void write(const Value& value) {
    budget_.step();
    if (value.is_none()) {
      out.append("null");
    } else if (const bool* const truth = value.get_if<bool>()) {
      out.append(*truth ? "true" : "false");
    } else if (value.is<std::int64_t>()) {
      out.append(std::to_string(value.integer()));
    } else if (const double* const number = value.get_if<double>()) {
      out.append(json_number_text(*number));
    } else if (const Text* const text = value.text()) {
      budget_.pay(text->size() * 4);
      append_json_string(out, *text, options_.ensure_ascii);
    } else if (const Sequence* const sequence = value.sequence()) {
      if (sequence->kind != SequenceKind::list && sequence->kind != SequenceKind::tuple)
        fail("`tojson` is given a range or a view of a dict");
      list(sequence->items.size(), '[', ']', [&](std::size_t i) { write(sequence->items[i]); });
    } else if (const Dictionary* const dict = value.dictionary()) {
      write_members(dict->items);
    } else {
      fail("`tojson` is given ", value.kind_name());
    }
  }

  Text out;

 private:
  static std::string json_number_text(double number) {
    if (std::isnan(number)) return "NaN";
    return std::isinf(number) ? (number < 0 ? "-Infinity" : "Infinity") : number_text(number);
  }

  template <class Write>
  void list(std::size_t count, char open, char close, Write write_one) {
    out.append(std::string_view(&open, 1));
    ++depth_;
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out.append(options_.item_separator);
      line();
      write_one(i);
    }
    --depth_;
    if (count > 0) line();
    out.append(std::string_view(&close, 1));
  }
  void line() {
    if (!options_.indent) return;
    out.append("\n");
    budget_.pay(options_.indent->size() * static_cast<std::size_t>(depth_));
    for (int i = 0; i < depth_; ++i) out.append(*options_.indent);
  }
  void write_members(std::vector<std::pair<Value, Value>> items) {
    if (options_.sort_keys) {
      std::stable_sort(items.begin(), items.end(),
                       [&](const auto& a, const auto& b) { return compare(a.first, b.first, budget_) < 0; });
    }
    list(items.size(), '{', '}', [&](std::size_t i) {
      const Value& key = items[i].first;
      if (key.text() != nullptr) {
        write(key);
      } else {  // a number, a truth value or none becomes a string
        JsonWriter inner(options_, budget_);
        inner.write(key);
        append_json_string(out, inner.out, false);
      }
      out.append(options_.key_separator);
      write(items[i].second);
    });
  }

  const JsonOptions& options_;
  Budget& budget_;
  int depth_ = 0;
};

}  // namespace

// The shortest digits that give the number again; an exponent from 1e16 on and below 1e-4.
std::string number_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const auto scientific =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::scientific);
  const std::string digits(buffer.data(), scientific.ptr);
  const int exponent = std::stoi(digits.substr(digits.find('e') + 1));
  if (number != 0 && (exponent < -4 || exponent >= 16)) return digits;
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed);
  std::string text(buffer.data(), fixed.ptr);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

Text repr(const Value& value, Budget& budget) {
  Text out;
  append_repr(out, value, budget);
  budget.pay(out.size());
  return out;
}

Text str(const Value& value, Budget& budget) {
  if (const Text* const text = value.text()) return *text;
  return value.is_undefined() ? Text() : repr(value, budget);
}

Text to_json(const Value& value, const JsonOptions& options, Budget& budget) {
  JsonWriter writer(options, budget);
  writer.write(value);
  budget.pay(writer.out.size());
  return std::move(writer.out);
}

}  // namespace attend::chat
