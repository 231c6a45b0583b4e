// Regular expressions over PCRE2. `tokenizers` reads them with Oniguruma: what the two read differently is
// rewritten or refused.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string>

#include "base/error.h"
#include "text/pattern.h"
#include "text/unicode_differences.h"
#include "text/utf8.h"

namespace attend::text {
namespace {

constexpr std::uint32_t kMatchLimit = 10'000'000;  // a tenth of a second
constexpr std::uint32_t kHeapLimit = 64 << 10;     // KiB

using Ranges = std::span<const differences::Range>;

// Categories that have grown since PCRE2's tables were made.
struct Category {
  std::string_view name;
  Ranges added;
};
constexpr Category kCategories[] = {
    {"L", differences::kPatternL},   {"Lu", differences::kPatternLu}, {"Ll", differences::kPatternLl},
    {"Lm", differences::kPatternLm}, {"Lo", differences::kPatternLo}, {"M", differences::kPatternM},
    {"Mn", differences::kPatternMn}, {"Mc", differences::kPatternMc}, {"N", differences::kPatternN},
    {"Nd", differences::kPatternNd}, {"No", differences::kPatternNo}, {"P", differences::kPatternP},
    {"Po", differences::kPatternPo}, {"S", differences::kPatternS},   {"So", differences::kPatternSo},
    {"Sm", differences::kPatternSm}};

// The inside of a character class: \p{name} as Oniguruma knows it.
std::string category_class(std::string_view name) {
  std::ostringstream set;
  set << "\\p{" << name << "}" << std::hex;
  for (const Category& category : kCategories) {
    if (category.name != name) continue;
    for (const auto& range : category.added) {
      set << "\\x{" << std::uint32_t{range.first} << "}-\\x{" << std::uint32_t{range.last} << "}";
    }
  }
  return set.str();
}

// The inside of a character class for \s, \d or \w.
std::string escape_class(char escape) {
  if (escape == 's') return R"(\p{Z}\x{09}-\x{0D}\x{85})";
  if (escape == 'd') return category_class("Nd");
  return category_class("L") + category_class("M") + category_class("Nd") +
         R"(\p{Nl}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})"
         R"(\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";
}

// Rewrites an expression for PCRE2.
class Translation {
 public:
  Translation(const Json& where, std::string_view expression) : where_(where), expression_(expression) {}

  std::string result() {
    for (at_ = 0; at_ < expression_.size(); ++at_) {
      const char c = expression_[at_], next = peek(1);
      if (c == '\\') {
        escape(next);
        continue;
      }
      if (in_class_ && (c == '[' || (c == '&' && next == '&'))) {
        where_.fail("a class within a class of a regular expression is not supported");
      }
      if (c == '[' && next == ']') where_.fail("an empty class in a regular expression is not supported");
      if (!in_class_ && c == '(' && next == '?') check_flags();
      if (c == '[') in_class_ = true;
      if (c == ']') in_class_ = false;
      result_ += c;
    }
    return std::move(result_);
  }

 private:
  char peek(std::size_t ahead) const {
    return at_ + ahead < expression_.size() ? expression_[at_ + ahead] : '\0';
  }

  // What follows a backslash, which is at at_.
  void escape(char next) {
    constexpr std::string_view kDifferent = "hHRXKbBGAzZ";
    if (next != '\0' && kDifferent.find(next) != std::string_view::npos) {
      where_.fail("\\", next, " in a regular expression is not supported");
    }
    if (next == 's' || next == 'd' || next == 'w') return set(escape_class(next), false, 1);
    if (next == 'S' || next == 'D' || next == 'W')
      return set(escape_class(static_cast<char>(next + 32)), true, 1);
    if ((next == 'p' || next == 'P') && peek(2) == '{') {
      const std::size_t end = std::min(expression_.find('}', at_), expression_.size() - 1);
      const std::string_view name = expression_.substr(at_ + 3, end - at_ - 3);
      if (!name.starts_with('^')) return set(category_class(name), next == 'P', end - at_);
    }
    result_ += '\\';
    if (next != '\0') result_ += next;
    ++at_;
  }

  void set(const std::string& inside, bool negated, std::size_t length) {
    if (in_class_ && negated)
      where_.fail("a negated escape in a class of a regular expression is not supported");
    if (in_class_) {
      result_ += inside;
    } else {
      result_ += (negated ? "[^" : "[") + inside + "]";
    }
    at_ += length;
  }

  // (?m) makes the dot match a line's end there, and anchors match at line ends here.
  void check_flags() const {
    const std::string_view flags = expression_.substr(at_ + 2);
    for (const char flag : flags.substr(0, flags.find_first_not_of("imxs-"))) {
      if (flag == 'm' || flag == 's') where_.fail("(?", flag, ") in a regular expression is not supported");
    }
  }

  const Json& where_;
  std::string_view expression_;
  std::string result_;
  std::size_t at_ = 0;
  bool in_class_ = false;
};

class Regex final : public Pattern {
 public:
  Regex(const Json& where, std::string_view expression) : shown_(shown(expression)) {
    const std::string pattern = Translation(where, expression).result();
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
