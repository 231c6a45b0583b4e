#include "text/regex_class.h"

#include <array>
#include <sstream>
#include <utility>

#include "text/unicode.h"

namespace attend::text {
namespace {

constexpr int kDeepestClass = 16;

// The reason why a class that ignores case is refused.
constexpr const char* kCasedClass = "this class of letters where case is ignored";

std::string negation(const std::string& one) { return "(?:(?!" + one + ")(?s:.))"; }

// {1F} or two digits after \x, of which those above 7F would be bytes and not characters there.
char32_t read_hexadecimal(RegexCursor& cursor) {
  if (cursor.take("{")) {
    const std::size_t end = cursor.text.find('}', cursor.at);
    const std::string_view digits =
        end == std::string_view::npos ? "" : cursor.text.substr(cursor.at, end - cursor.at);
    const std::int64_t value = digits.size() > 8 ? -1 : digits_value(digits, 16);
    if (value < 0 || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
      cursor.unsupported("this \\x{...}");
    cursor.at = end + 1;
    return static_cast<char32_t>(value);
  }
  std::size_t count = 0;
  while (count < 2 && digits_value(cursor.rest().substr(count, 1), 16) >= 0) ++count;
  const std::int64_t value = digits_value(cursor.rest().substr(0, count), 16);
  if (value < 0 || value > 0x7F)
    cursor.unsupported("\\x without the hexadecimal digits of an ASCII character");
  cursor.at += count;
  return static_cast<char32_t>(value);
}

char32_t read_u(RegexCursor& cursor) {
  const std::string_view digits = cursor.rest().substr(0, 4);
  const std::int64_t value = digits.size() == 4 ? digits_value(digits, 16) : -1;
  if (value < 0 || (value >= 0xD800 && value < 0xE000))
    cursor.unsupported("\\u without four digits of a character");
  cursor.at += 4;
  return static_cast<char32_t>(value);
}

// After \0: up to two octal digits more.
char32_t read_octal(RegexCursor& cursor) {
  char32_t value = 0;
  for (int i = 0; i < 2 && cursor.peek() >= '0' && cursor.peek() <= '7'; ++i)
    value = value * 8 + (cursor.next() - U'0');
  return value;
}

// The parts of a class, between which && stands, up to its closing bracket.
class ClassReader {
 public:
  ClassReader(RegexCursor& cursor, bool ignore_case, int depth)
      : cursor_(cursor), ignore_case_(ignore_case), depth_(depth) {
    if (depth > kDeepestClass) cursor.unsupported("classes nested more than ", kDeepestClass, " deep");
  }

  CharacterSet read() {
    const bool negated = cursor_.take("^");
    if (cursor_.peek() == ']') cursor_.unsupported("a class that is empty or begins with ]");
    std::vector<CharacterSet> parts(1);
    for (;;) {
      if (cursor_.done()) cursor_.where.fail("is not a regular expression: a class has no ]");
      const bool ends = cursor_.peek() == ']', joins = cursor_.rest().starts_with("&&");
      if (!ends && !joins) {
        item(parts.back());
        continue;
      }
      if (empty(parts.back()) || (joins && cursor_.peek(2) == '^'))
        cursor_.unsupported("this use of && in a class");
      cursor_.at += joins ? 2 : 1;
      first_ = true;
      if (ends) break;
      parts.emplace_back();
    }
    CharacterSet whole = parts.size() == 1 ? std::move(parts[0]) : intersection(parts);
    if (ignore_case_ && whole.cased) cursor_.unsupported(kCasedClass);
    whole.negated = negated;
    return whole;
  }

 private:
  static bool empty(const CharacterSet& set) { return set.plain.empty() && set.others.empty(); }

  static CharacterSet intersection(const std::vector<CharacterSet>& parts) {
    CharacterSet both;
    std::string expression = "(?:";
    for (std::size_t i = 1; i < parts.size(); ++i) expression += "(?=" + parts[i].written() + ")";
    both.others.push_back(expression + parts[0].written() + ")");
    for (const CharacterSet& part : parts) both.cased |= part.cased;
    return both;
  }

  void item(CharacterSet& set) {
    const bool first = std::exchange(first_, false);
    if (cursor_.peek() == '[') return nested(set);
    if (cursor_.peek() == '-') return hyphen(set, first);
    if (cursor_.peek() == '\\') {
      RegexCursor ahead = cursor_;
      ++ahead.at;
      if (const auto escape = read_set_escape(ahead, true)) {
        cursor_.at = ahead.at;
        if (ignore_case_ && escape->negated) cursor_.unsupported(kCasedClass);
        if (cursor_.peek() == '-' && cursor_.peek(1) != ']')
          cursor_.unsupported("- after an escape of a class");
        set.add(*escape);
        return;
      }
    }
    const char32_t begin = character();
    char32_t end = begin;
    if (cursor_.peek() == '-' && cursor_.peek(1) != ']') {
      ++cursor_.at;
      if (cursor_.done() || cursor_.peek() == '[' || cursor_.rest().starts_with("&&"))
        cursor_.unsupported("this range of a class");
      if (cursor_.peek() == '\\') {
        RegexCursor ahead = cursor_;
        ++ahead.at;
        if (read_set_escape(ahead, true)) cursor_.unsupported("a range up to an escape in a class");
      }
      end = character();
      if (end < begin)
        cursor_.where.fail("is not a regular expression: a range of a class has no characters");
      if (cursor_.peek() == '-' && cursor_.peek(1) != ']') cursor_.unsupported("- after a range of a class");
    }
    add_range(begin, end, set);
  }

  char32_t character() {
    const char32_t c = cursor_.next();
    return c == U'\\' ? read_character_escape(cursor_, true) : c;
  }

  void add_range(char32_t begin, char32_t end, CharacterSet& set) const {
    if (ignore_case_ && !(has_simple_case(begin) && (begin == end || end < 0x80)))
      cursor_.unsupported(kCasedClass);
    set.plain += written_character(begin);
    if (begin < end) set.plain += "-" + written_character(end);
  }

  // Itself, where it is the first or the last of the class.
  void hyphen(CharacterSet& set, bool first) {
    ++cursor_.at;
    const bool last = cursor_.peek() == ']';
    if (!last && (!first || cursor_.peek() == '-')) cursor_.unsupported("this - in a class");
    set.plain += written_character(U'-');
  }

  void nested(CharacterSet& set) {
    if (cursor_.peek(1) == ':') cursor_.unsupported("[[:name:]]");
    // (?i)[[^a]] has an a: it is equal to the A that the inner class has.
    if (ignore_case_) cursor_.unsupported(kCasedClass);
    ++cursor_.at;
    set.add(ClassReader(cursor_, ignore_case_, depth_ + 1).read());
    if (cursor_.peek() == '-' && cursor_.peek(1) != ']') cursor_.unsupported("- after a class of a class");
  }

  RegexCursor& cursor_;
  bool ignore_case_;
  int depth_;
  bool first_ = true;
};

}  // namespace

std::string CharacterSet::written() const {
  if (others.empty()) return (negated ? "[^" : "[") + plain + "]";
  std::string any = "(?:";
  if (!plain.empty()) any += "[" + plain + "]";
  for (const std::string& other : others) any.append(any.size() > 3 ? "|" : "").append(other);
  any += ")";
  return negated ? negation(any) : any;
}

void CharacterSet::add(const CharacterSet& other) {
  cased |= other.cased;
  if (other.negated) {
    others.push_back(other.written());
    return;
  }
  plain += other.plain;
  others.insert(others.end(), other.others.begin(), other.others.end());
}

std::string written_character(char32_t c) {
  const bool plain = c < 0x80 && (is_ascii_digit(static_cast<char>(c)) || (c >= U'A' && c <= U'Z') ||
                                  (c >= U'a' && c <= U'z'));
  if (plain) return std::string(1, static_cast<char>(c));
  std::ostringstream code;
  code << "\\x{" << std::hex << std::uint32_t{c} << "}";
  return code.str();
}

bool has_simple_case(char32_t c) {
  if (c < 0x80) return true;
  char32_t lower[2];
  const bool circled = (c >= 0x2160 && c <= 0x2188) || (c >= 0x24B6 && c <= 0x24E9);
  const bool ideograph = is_ideograph(c) || (c >= 0x3041 && c <= 0x30FF) || (c >= 0xAC00 && c <= 0xD7A3);
  return ideograph || (!circled && !is(c, kLetter | kMark) && lower_case(c, lower) == 1 && lower[0] == c);
}

std::optional<CharacterSet> read_set_escape(RegexCursor& cursor, bool in_class) {
  const char letter = cursor.peek();
  CharacterSet set;
  switch (letter) {
    case 'd':
    case 'D':
      set = digit_set();
      break;
    case 's':
    case 'S':
      set = space_set();
      break;
    case 'w':
    case 'W':
      set = word_set(in_class);
      break;
    case 'h':
    case 'H':
      set.plain = "0-9a-fA-F";
      break;
    case 'p':
    case 'P': {
      if (cursor.peek(1) != '{') cursor.unsupported("\\", letter, " without {}");
      const std::size_t end = cursor.text.find('}', cursor.at);
      if (end == std::string_view::npos) cursor.unsupported("\\", letter, "{ without }");
      std::string_view name = cursor.text.substr(cursor.at + 2, end - cursor.at - 2);
      const bool opposite = name.starts_with('^');
      if (opposite) name.remove_prefix(1);
      auto property = property_set(name);
      if (!property) cursor.unsupported("the property ", io::quoted(name));
      cursor.at = end + 1;
      property->negated = opposite != (letter == 'P');
      return property;
    }
    default:
      return std::nullopt;
  }
  ++cursor.at;
  set.negated = letter < 'a';
  return set;
}

char32_t read_character_escape(RegexCursor& cursor, bool in_class) {
  constexpr std::pair<char, char32_t> kNamed[] = {{'t', 9},  {'n', 10}, {'v', 11},  {'f', 12},
                                                  {'r', 13}, {'a', 7},  {'e', 0x1B}};
  if (cursor.done()) cursor.where.fail("is not a regular expression: it ends with a backslash");
  const char32_t c = cursor.next();
  if (c == U'x') return read_hexadecimal(cursor);
  if (c == U'u') return read_u(cursor);
  if (c == U'0') return read_octal(cursor);
  if (in_class && c == U'b') return 8;
  for (const auto& [letter, character] : kNamed) {
    if (c == static_cast<char32_t>(letter)) return character;
  }
  const bool alphanumeric = (c >= U'0' && c <= U'9') || (c >= U'A' && c <= U'Z') || (c >= U'a' && c <= U'z');
  if (alphanumeric) cursor.unsupported("\\", static_cast<char>(c), in_class ? " in a class" : "");
  return c;
}

CharacterSet read_class(RegexCursor& cursor, bool ignore_case, int depth) {
  return ClassReader(cursor, ignore_case, depth).read();
}

}  // namespace attend::text
