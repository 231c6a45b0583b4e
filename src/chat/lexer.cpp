#include "chat/lexer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "io/fail.h"
#include "io/utf8.h"

namespace attend::chat {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
}
bool goes_on_name(char c) { return starts_name(c) || is_digit(c); }

// Every end of a line as \n, and without the last one.
std::string normal_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class TemplateLexer {
 public:
  explicit TemplateLexer(std::string_view source) : source_(normal_lines(source)) {}

  std::vector<Token> tokens() && {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      data_before(tag);
      if (tag == source_.size()) break;
      begin_tag(tag);
    }
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void wrong(std::string sentence) const { throw SyntaxError{line_, std::move(sentence)}; }
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  bool is_at(std::string_view word) const { return std::string_view(source_).substr(at_).starts_with(word); }
  void move_to(std::size_t place) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
    at_ = place;
  }
  void skip_spaces() {
    std::size_t end = at_;
    while (end < source_.size() && is_space(source_[end])) ++end;
    move_to(end);
  }

  std::size_t next_tag() const {
    for (std::size_t i = source_.find('{', at_); i != std::string::npos; i = source_.find('{', i + 1)) {
      if (i + 1 < source_.size() && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
        return i;
    }
    return source_.size();
  }

  // The text up to a tag, without what the tag takes away before it.
  void data_before(std::size_t tag) {
    std::size_t end = tag;
    if (tag < source_.size()) {
      const char kind = source_[tag + 1], mark = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      if (mark == '-') {
        while (end > at_ && is_space(source_[end - 1])) --end;
      } else if (mark != '+' && kind != '{') {  // the white space that starts the tag's line
        std::size_t start = end;
        while (start > at_ && source_[start - 1] != '\n' && is_space(source_[start - 1])) --start;
        const bool starts_line = start == at_ ? line_starts_ : source_[start - 1] == '\n';
        if (starts_line) end = start;
      }
    }
    if (end > at_) add(TokenKind::data, source_.substr(at_, end - at_));
    move_to(tag);
  }

  void begin_tag(std::size_t tag) {
    const char kind = source_[tag + 1];
    move_to(tag + 2);
    if (kind == '#') return comment();
    if (peek() == '-' || peek() == '+') move_to(at_ + 1);
    if (kind == '{') {
      add(TokenKind::print_begin, "");
      expression("}}", TokenKind::print_end);
      return;
    }
    if (raw_block()) return;
    add(TokenKind::tag_begin, "");
    expression("%}", TokenKind::tag_end);
  }

  void comment() {
    const std::size_t begin = at_ + (peek() == '-' || peek() == '+' ? 1 : 0);
    const std::size_t end = source_.find("#}", begin);
    if (end == std::string::npos) wrong("a comment that {# begins does not end");
    const char mark = end > begin ? source_[end - 1] : '\0';
    move_to(end + 2);
    after_tag(mark, true);
  }

  // What the end of a tag takes away after it.
  void after_tag(char mark, bool trims_newline) {
    const std::size_t before = at_;
    if (mark == '-') {
      skip_spaces();
    } else if (mark != '+' && trims_newline && peek() == '\n') {
      move_to(at_ + 1);
    }
    line_starts_ = at_ > before && source_[at_ - 1] == '\n';
  }

  bool raw_block() {
    const std::size_t start = at_;
    const int line = line_;
    skip_spaces();
    if (!is_at("raw") || goes_on_name(peek(3))) return back_to(start, line);
    move_to(at_ + 3);
    skip_spaces();
    const char mark = peek();
    if (mark == '-') move_to(at_ + 1);
    if (!is_at("%}")) return back_to(start, line);
    move_to(at_ + 2);
    after_tag(mark == '-' ? '-' : '+', false);
    for (std::size_t i = source_.find("{%", at_); i != std::string::npos; i = source_.find("{%", i + 1)) {
      std::size_t after = i + 2;
      if (after < source_.size() && (source_[after] == '-' || source_[after] == '+')) ++after;
      while (after < source_.size() && is_space(source_[after])) ++after;
      if (!std::string_view(source_).substr(after).starts_with("endraw")) continue;
      after += 6;
      while (after < source_.size() && is_space(source_[after])) ++after;
      const char end_mark = after < source_.size() ? source_[after] : '\0';
      if (end_mark == '-' || end_mark == '+') ++after;
      if (!std::string_view(source_).substr(after).starts_with("%}")) continue;
      data_before(i);
      move_to(after + 2);
      after_tag(end_mark, true);
      return true;
    }
    wrong("a block that {% raw %} begins does not end");
  }
  bool back_to(std::size_t place, int line) {
    at_ = place;
    line_ = line;
    return false;
  }

  void expression(std::string_view close, TokenKind close_kind) {
    std::string open;  // brackets: a closing brace may belong to a dict
    for (;;) {
      skip_spaces();
      if (at_ >= source_.size()) wrong(joined("a tag does not end with ", close));
      if (open.empty()) {
        const char mark = peek();
        const bool marked = (mark == '-' || (mark == '+' && close == "%}")) &&
                            std::string_view(source_).substr(at_ + 1).starts_with(close);
        if (marked || is_at(close)) {
          move_to(at_ + (marked ? 1 : 0) + 2);
          add(close_kind, "");
          after_tag(marked ? mark : '\0', close == "%}");
          return;
        }
      }
      token(open);
    }
  }

  void token(std::string& open) {
    const char c = peek();
    if (c == '"' || c == '\'') return string();
    if (is_digit(c)) return number();
    if (starts_name(c)) {
      std::size_t end = at_;
      while (end < source_.size() && goes_on_name(source_[end])) ++end;
      add(TokenKind::name, source_.substr(at_, end - at_));
      return move_to(end);
    }
    constexpr std::array<std::string_view, 27> kSigns = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "/",
                                                         "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                         ">",  "<",  "=",  ".",  ":",  "|",  ",", ";", "!"};
    for (const std::string_view sign : kSigns) {
      if (!is_at(sign)) continue;
      if (sign == "(" || sign == "[" || sign == "{") open += sign;
      if (sign == ")" || sign == "]" || sign == "}") {
        const char opening = sign == ")" ? '(' : sign == "]" ? '[' : '{';
        if (open.empty() || open.back() != opening) wrong(joined("\"", sign, "\" closes nothing"));
        open.pop_back();
      }
      add(TokenKind::sign, std::string(sign));
      return move_to(at_ + sign.size());
    }
    wrong(joined(io::quoted(std::string_view(&c, 1)), " is not a sign of the template language"));
  }

  void number() {
    std::size_t end = at_;
    const auto digits = [&] {
      while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) ++end;
    };
    const auto digit_at = [&](std::size_t place) {
      return place < source_.size() && is_digit(source_[place]);
    };
    bool whole = true;
    digits();
    if (end < source_.size() && source_[end] == '.' && digit_at(end + 1) &&
        (tokens_.empty() || tokens_.back().kind != TokenKind::sign || tokens_.back().text != ".")) {
      whole = false;
      ++end;
      digits();
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const std::size_t sign =
          end + 1 < source_.size() && (source_[end + 1] == '+' || source_[end + 1] == '-');
      if (digit_at(end + 1 + sign)) {
        whole = false;
        end += 1 + sign;
        digits();
      }
    }
    if (end < source_.size() && goes_on_name(source_[end])) wrong("a number is followed by a letter");
    std::string text;
    std::copy_if(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                 source_.begin() + static_cast<std::ptrdiff_t>(end), std::back_inserter(text),
                 [](char c) { return c != '_'; });
    add(whole ? TokenKind::integer : TokenKind::number, std::move(text));
    move_to(end);
  }

  void string() {
    const char quote = peek();
    std::string text;
    std::size_t i = at_ + 1;
    for (; i < source_.size() && source_[i] != quote; ++i) {
      if (source_[i] == '\\') {
        i = escape(i, text);
      } else {
        text += source_[i];
      }
    }
    if (i >= source_.size()) wrong("a string does not end");
    add(TokenKind::string, std::move(text));
    move_to(i + 1);
  }

  // Python's escapes; returns the place of their last character.
  std::size_t escape(std::size_t i, std::string& text) const {
    if (i + 1 >= source_.size()) wrong("a string does not end");
    const char c = source_[i + 1];
    constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
    if (const std::size_t found = kLetters.find(c); found != std::string_view::npos) {
      text += kMeanings[found];
      return i + 1;
    }
    if (c == '\n') return i + 1;
    const auto coded = [&](std::size_t begin, std::size_t most, unsigned base) {
      std::uint32_t code = 0;
      std::size_t end = begin;
      for (; end < source_.size() && end < begin + most; ++end) {
        const char digit = source_[end];
        const unsigned worth = is_digit(digit)                ? static_cast<unsigned>(digit - '0')
                               : digit >= 'a' && digit <= 'f' ? static_cast<unsigned>(digit - 'a') + 10
                               : digit >= 'A' && digit <= 'F' ? static_cast<unsigned>(digit - 'A') + 10
                                                              : 99;
        if (worth >= base) break;
        code = code * base + worth;
      }
      return std::pair(code, end);
    };
    const bool octal = c >= '0' && c <= '7';
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : octal ? 3 : 0;
    if (digits == 0) {
      if (c == 'N') wrong("a string has an escape \\N, which attend does not have");
      text += '\\';  // no escape: both characters stand for themselves
      text += c;
      return i + 1;
    }
    const auto [code, end] = coded(octal ? i + 1 : i + 2, digits, octal ? 8 : 16);
    if (!octal && end != i + 2 + digits) wrong("a string has an escape that is cut short");
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      wrong("a string has an escape that is not a character");
    io::append_char(text, code);
    return end - 1;
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> read_tokens(std::string_view source) { return TemplateLexer(source).tokens(); }

}  // namespace attend::chat
