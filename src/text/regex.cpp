// Regular expressions over PCRE2. `tokenizers` reads them with Oniguruma: what the two read differently is
// rewritten or refused.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "text/pattern.h"
#include "text/utf8.h"

namespace attend::text {
namespace {

constexpr std::uint32_t kMatchLimit = 10'000'000;  // a tenth of a second
constexpr std::uint32_t kHeapLimit = 64 << 10;     // KiB

// Insides of a character class.
constexpr std::string_view kSpaceClass = R"(\p{Z}\x{09}-\x{0D}\x{85})";
constexpr std::string_view kWordClass =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}\x{24B6}-\x{24E9})"
    R"(\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";

// The expression with \s and \w as Oniguruma understands them.
std::string translated(const Json& where, std::string_view expression) {
  std::string result;
  bool in_class = false;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    const char next = i + 1 < expression.size() ? expression[i + 1] : '\0';
    if (c == '\\') {
      ++i;
      const bool negated = next == 'S' || next == 'W';
      if (next == 's' || next == 'w' || (negated && !in_class)) {
        const std::string_view set = next == 's' || next == 'S' ? kSpaceClass : kWordClass;
        result += in_class ? "" : negated ? "[^" : "[";
        result += set;
        result += in_class ? "" : "]";
      } else if (std::string_view("hHRXKbBGW").find(next) != std::string_view::npos && next != '\0') {
        where.fail("\\", next, " in a regular expression is not supported here");
      } else {
        result += c;
        if (next != '\0') result += next;
      }
      continue;
    }
    if (in_class && (c == '[' || (c == '&' && next == '&'))) {
      where.fail("a class within a class of a regular expression is not supported");
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    if (c == '[' && next == ']') where.fail("an empty class in a regular expression is not supported");
    if (!in_class && c == '(' && next == '?' && i + 2 < expression.size() &&
        std::string_view("imx-").find(expression[i + 2]) != std::string_view::npos) {
      const std::string_view flags = expression.substr(i + 2, expression.find_first_of(":)", i) - i - 2);
      if (flags.find('m') != std::string_view::npos)
        where.fail("(?m) in a regular expression is not supported");
    }
    result += c;
  }
  return result;
}

class Regex final : public Pattern {
 public:
  Regex(const Json& where, std::string_view expression) : shown_(shown(expression)) {
    const std::string pattern = translated(where, expression);
    int error = 0;
    PCRE2_SIZE place = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &place,
                          nullptr);
    if (code_ == nullptr) {
      PCRE2_UCHAR message[200];
      pcre2_get_error_message(error, message, sizeof message);
      where.fail("is no regular expression: ", reinterpret_cast<const char*>(message));
    }
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);  // without it matching is slower, not wrong
    limits_ = pcre2_match_context_create(nullptr);
    pcre2_set_match_limit(limits_, kMatchLimit);
    pcre2_set_heap_limit(limits_, kHeapLimit);
  }
  ~Regex() override {
    pcre2_match_context_free(limits_);
    pcre2_code_free(code_);
  }
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  void find(std::string_view text, std::size_t begin, std::size_t end,
            std::vector<Match>& matches) const override {
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
        pcre2_match_data_create(1, nullptr), &pcre2_match_data_free);
    const std::string_view inside = text.substr(begin, end - begin);
    std::size_t start = 0;
    std::size_t last_end = std::string_view::npos;
    while (start <= inside.size() && found(inside, start, data.get())) {
      const PCRE2_SIZE* place = pcre2_get_ovector_pointer(data.get());
      if (place[0] == place[1] &&
          place[1] == last_end) {  // nothing, right behind the last match: try further on
        start =
            place[1] + (place[1] < inside.size() ? static_cast<std::size_t>(utf8_size(inside[place[1]])) : 1);
        continue;
      }
      matches.push_back({begin + place[0], begin + place[1]});
      start = last_end = place[1];
    }
  }

 private:
  bool found(std::string_view text, std::size_t start, pcre2_match_data* data) const {
    const auto match = [&](std::uint32_t options) {
      return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), start,
                         PCRE2_NO_UTF_CHECK | options, data, limits_);
    };
    int result = match(0);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match(PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result < 0) refuse("tokenizer", "the expression ", shown_, " takes too many steps on this text");
    return true;
  }

  std::string shown_;
  pcre2_code* code_ = nullptr;
  pcre2_match_context* limits_ = nullptr;
};

}  // namespace

std::unique_ptr<const Pattern> compile_pattern(const Json& where, std::string_view expression) {
  if (expression.size() > 10'000) where.fail("is longer than 10000 bytes");
  return std::make_unique<Regex>(where, expression);
}

}  // namespace attend::text
