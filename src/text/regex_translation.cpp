#include "text/regex_translation.h"

#include <algorithm>
#include <utility>

#include "text/regex_class.h"
#include "text/unicode.h"

namespace attend::text {
namespace {

constexpr int kDeepestGroup = 200;  // PCRE2 has 250
constexpr std::int64_t kMostRepeats = 65535;
constexpr const char* kSeveral = "a letter that stands for several (as ß for ss) where case is ignored";

struct RegexFlags {
  bool ignore_case = false;
  bool dot_matches_all = false;  // (?m), which is (?s) elsewhere
  bool extended = false;         // white space and comments do not count

  std::string opened() const { return ignore_case ? "(?i:" : "(?-i:"; }
};

class Translation {
 public:
  Translation(const io::JsonValue& where, std::string_view expression) : cursor_{where, expression} {}

  std::string result() {
    alternatives({}, 0, {});
    if (!cursor_.done()) cursor_.where.fail("is not a regular expression: ) without (");
    if (references_ && numbers_shift_)
      cursor_.unsupported("a reference to a group beside named groups or groups that are repeated 0 times");
    return std::move(out_);
  }

 private:
  enum class Item { none, plain, assertion, repeat };

  // What is known of a part of the expression.
  struct Part {
    char32_t character = 0;    // at its end, where there is one: Oniguruma joins it with the next to one text
    bool may_be_empty = true;  // it can match nothing
  };

  // Up to the end, or the parenthesis that closes the group. `before` is what stands to its left.
  Part alternatives(RegexFlags flags, int depth, const Part& before) {
    if (depth > kDeepestGroup) cursor_.unsupported("groups nested more than ", kDeepestGroup, " deep");
    Item last = Item::none;
    std::size_t last_begin = out_.size();
    char32_t last_character = before.character, end = 0;
    bool last_empty = false;          // whether the last item may be
    bool so_far = true, any = false;  // whether this alternative, or one before it, may be
    while (!cursor_.done() && cursor_.peek() != ')') {
      if (skip_space(flags) || skip_comment()) continue;
      if (const auto repeat = read_repeat()) {
        add_repeat(*repeat, last, last_begin, flags.ignore_case && begins_several(last_character),
                   last_empty);
        last = Item::repeat;
        last_empty |= repeat->fewest == 0;
        continue;
      }
      so_far &= last == Item::none || last_empty;
      last_empty = false;
      const std::size_t begin = out_.size();
      const char32_t left = std::exchange(last_character, 0);
      if (cursor_.take("|")) {
        out_ += '|';
        if (begins_several(left)) end = left;
        last_character = before.character;
        any |= std::exchange(so_far, true);
        last = Item::none;
      } else if (cursor_.take("(")) {
        Part part{left};
        last = group(flags, depth, part);
        last_character = part.character;
        last_empty = part.may_be_empty;
      } else if (cursor_.take("[")) {
        out_ += read_class(cursor_, flags.ignore_case).written();
        last = Item::plain;
      } else if (cursor_.take(".")) {
        out_ += flags.dot_matches_all ? "(?s:.)" : "\\N";
        last = Item::plain;
      } else if (cursor_.peek() == '^' || cursor_.peek() == '$') {
        out_ += static_cast<char>(cursor_.next());
        last = Item::assertion;
        last_empty = true;
      } else if (cursor_.peek() == '\\' && escape(flags, last)) {
        last_empty = last == Item::assertion || is_reference_;
      } else {
        last_character = cursor_.next();
        if (last_character == U'\\') last_character = read_character_escape(cursor_, false);
        if (flags.ignore_case) require_simple_case(left, last_character);
        out_ += written_character(last_character);
        last = Item::plain;
      }
      last_begin = begin;
    }
    so_far &= last == Item::none || last_empty;
    return {begins_several(end) ? end : last_character, any || so_far};
  }

  // White space and comments of (?x).
  bool skip_space(const RegexFlags& flags) {
    if (!flags.extended) return false;
    if (cursor_.take("#")) {
      cursor_.at = std::min(cursor_.text.find('\n', cursor_.at), cursor_.text.size());
      return true;
    }
    RegexCursor ahead = cursor_;
    if (!is(ahead.next(), kWhite)) return false;
    cursor_.at = ahead.at;
    return true;
  }

  bool skip_comment() {
    if (!cursor_.take("(?#")) return false;
    for (; !cursor_.done() && cursor_.peek() != ')'; cursor_.next()) {
      if (cursor_.peek() == '\\') cursor_.unsupported("a backslash in a comment");
    }
    if (!cursor_.take(")")) cursor_.where.fail("is not a regular expression: a comment has no )");
    return true;
  }

  // How often something is repeated, and the sign after it that says in which order.
  struct Repeat {
    std::string written;
    std::int64_t fewest = 0, most = kMostRepeats;
    bool counted = true;  // in braces
  };

  std::optional<Repeat> read_repeat() {
    const char c = cursor_.peek();
    if (c == '*' || c == '+' || c == '?') {
      ++cursor_.at;
      Repeat repeat{std::string(1, c), c == '+' ? 1 : 0, kMostRepeats, false};
      if (cursor_.peek() == '?' || cursor_.peek() == '+') repeat.written += static_cast<char>(cursor_.next());
      return repeat;
    }
    if (c != '{') return std::nullopt;
    RegexCursor ahead = cursor_;
    ++ahead.at;
    const std::optional<std::int64_t> low = read_count(ahead);
    const bool comma = ahead.take(",");
    const std::optional<std::int64_t> high = comma ? read_count(ahead) : low;
    // Anything else in braces, {} and {,} too, is text.
    if (!ahead.take("}") || (!low && !high)) return std::nullopt;
    cursor_.at = ahead.at;
    if (high && low.value_or(0) > *high) cursor_.unsupported("{n,m} with n above m");
    Repeat repeat{"{" + std::to_string(low.value_or(0)), low.value_or(0), high.value_or(kMostRepeats)};
    if (comma) repeat.written += "," + (high ? std::to_string(*high) : std::string());
    repeat.written += "}";
    // {n,m}+ and {n}? are a repeat of the repeat; {n,m}? takes as few as it can.
    if (comma && cursor_.take("?")) repeat.written += "?";
    return repeat;
  }

  std::optional<std::int64_t> read_count(RegexCursor& cursor) const {
    if (!is_ascii_digit(cursor.peek())) return std::nullopt;
    std::int64_t count = 0;
    while (is_ascii_digit(cursor.peek())) {
      count = count * 10 + static_cast<std::int64_t>(cursor.next() - U'0');
      if (count > kMostRepeats) cursor.unsupported("a number of repeats above ", kMostRepeats);
    }
    return count;
  }

  void add_repeat(const Repeat& repeat, Item last, std::size_t last_begin, bool joins, bool may_be_empty) {
    if (last == Item::none || last == Item::assertion)
      cursor_.where.fail("is not a regular expression: ", repeat.written, " repeats nothing");
    if (joins && repeat.fewest > 1) cursor_.unsupported(kSeveral);
    // Where one round matches nothing Oniguruma takes it for all of them.
    if (may_be_empty && repeat.counted && repeat.most > 1)
      cursor_.unsupported(repeat.written, " after what can match nothing");
    if (repeat.most == 0) {
      // Nothing at all: PCRE2 10.42 looks for the start of what is in there nevertheless.
      out_.replace(last_begin, std::string::npos, "(?:)");
      numbers_shift_ = true;
      return;
    }
    if (last == Item::repeat) {
      out_.insert(last_begin, "(?:");
      out_ += ')';
    }
    out_ += repeat.written;
  }

  // Where case is ignored Oniguruma finds "ß" for "ss", and so for these pairs and for letters beyond ASCII.
  void require_simple_case(char32_t left, char32_t right) const {
    const char32_t a = small(left), b = small(right);
    const bool joined =
        (a == U's' && (b == U's' || b == U't')) || (a == U'f' && (b == U'f' || b == U'i' || b == U'l'));
    if (joined || !has_simple_case(right)) cursor_.unsupported(kSeveral);
  }
  static char32_t small(char32_t c) { return c >= U'A' && c <= U'Z' ? c + 32 : c; }
  static bool begins_several(char32_t c) { return small(c) == U's' || small(c) == U'f'; }

  // After the parenthesis. `part` is what stands to the left, and then the group.
  Item group(const RegexFlags& flags, int depth, Part& part) {
    if (cursor_.peek() == '*') cursor_.unsupported("(*");
    if (!cursor_.take("?")) {
      const std::size_t number = open_groups_.size();
      open_groups_.push_back(true);
      inside("(", flags, depth, part);
      open_groups_[number] = false;
      return Item::plain;
    }
    for (const char* const start : {"=", "!", "<=", "<!"}) {
      if (!cursor_.take(start)) continue;
      inside(std::string("(?") + start, flags, depth, part);
      part.may_be_empty = true;
      return Item::assertion;
    }
    if (cursor_.take(">")) {
      inside("(?>", flags, depth, part);
      return Item::plain;
    }
    if (cursor_.take("<")) {
      skip_name();
      inside("(?:", flags, depth, part);
      return Item::plain;
    }
    const RegexFlags changed = read_flags(flags);
    if (cursor_.take(":")) {
      inside(changed.ignore_case == flags.ignore_case ? "(?:" : changed.opened(), changed, depth, part);
      return Item::plain;
    }
    // (?i) by itself is a group up to the end of the one around it, alternatives and all.
    if (!cursor_.take(")")) cursor_.unsupported("the group ", io::quoted("(?" + next_character()));
    out_ += changed.opened();
    part = alternatives(changed, depth + 1, part);
    out_ += ')';
    return Item::plain;
  }

  void inside(const std::string& opening, const RegexFlags& flags, int depth, Part& part) {
    out_ += opening;
    part = alternatives(flags, depth + 1, part);
    if (!cursor_.take(")")) cursor_.where.fail("is not a regular expression: ( without )");
    out_ += ')';
  }

  void skip_name() {
    const std::size_t end = cursor_.text.find('>', cursor_.at);
    const std::string_view name =
        end == std::string_view::npos ? "" : cursor_.text.substr(cursor_.at, end - cursor_.at);
    const bool plain =
        !name.empty() && !is_ascii_digit(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
          return is_ascii_digit(c) || c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        });
    if (!plain) cursor_.unsupported("this name of a group");
    numbers_shift_ = true;  // with names, groups without do not count
    cursor_.at = end + 1;
  }

  RegexFlags read_flags(RegexFlags flags) {
    for (bool on = true;; ++cursor_.at) {
      const char c = cursor_.peek();
      if (c == 'i') {
        flags.ignore_case = on;
      } else if (c == 'm') {
        flags.dot_matches_all = on;
      } else if (c == 'x') {
        flags.extended = on;
      } else if (c == '-' && on) {
        on = false;
      } else {
        return flags;
      }
    }
  }

  // One that is not a character; false, and nothing is passed, where it is one.
  bool escape(const RegexFlags& flags, Item& kind) {
    RegexCursor ahead = cursor_;
    ++ahead.at;
    kind = Item::plain;
    is_reference_ = false;
    if (const auto set = read_set_escape(ahead, false)) {
      // Unlike in a class, case has no say in it.
      out_ += flags.ignore_case ? "(?-i:" + set->written() + ")" : set->written();
      cursor_.at = ahead.at;
      return true;
    }
    const char letter = ahead.peek();
    const std::string word = word_set().written();
    if (letter >= '1' && letter <= '9') {
      reference(letter, flags, is_ascii_digit(ahead.peek(1)));
    } else if (letter == 'R') {
      out_ += "(?>\\x{d}\\x{a}|[\\x{a}-\\x{d}\\x{85}\\x{2028}\\x{2029}])";
    } else if (letter == 'N') {
      if (ahead.peek(1) == '{') cursor_.unsupported("\\N{");
      out_ += "\\N";
    } else if (letter == 'O') {
      out_ += "(?s:.)";
    } else if (letter == 'b') {
      kind = Item::assertion;
      out_ += "(?-i:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))";
    } else if (letter == 'B') {
      kind = Item::assertion;
      out_ += "(?-i:(?<=" + word + ")(?=" + word + ")|(?<!" + word + ")(?!" + word + "))";
    } else if (letter == 'A' || letter == 'z' || letter == 'Z') {
      kind = Item::assertion;
      out_ += {'\\', letter};
    } else {
      return false;
    }
    cursor_.at += 2;
    return true;
  }

  void reference(char digit, const RegexFlags& flags, bool longer) {
    const auto number = static_cast<std::size_t>(digit - '1');
    const bool complete = number < open_groups_.size() && !open_groups_[number];
    if (longer || !complete || flags.ignore_case) cursor_.unsupported("this reference \\", digit);
    references_ = is_reference_ = true;
    out_ += {'(', '?', ':', '\\', digit, ')'};
  }

  std::string next_character() const {
    if (cursor_.done()) return {};
    RegexCursor ahead = cursor_;
    ahead.next();
    return std::string(cursor_.text.substr(cursor_.at, ahead.at - cursor_.at));
  }

  RegexCursor cursor_;
  std::string out_;
  std::vector<bool> open_groups_;  // of the groups so far, which are still open
  bool references_ = false, numbers_shift_ = false;
  bool is_reference_ = false;  // the escape that was read last
};

}  // namespace

std::string translated_regex(const io::JsonValue& where, std::string_view expression) {
  return Translation(where, expression).result();
}

}  // namespace attend::text
