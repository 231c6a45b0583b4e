// Regular expressions over PCRE2, once they are rewritten for it.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <string>

#include "io/utf8.h"
#include "text/pattern.h"
#include "text/regex_translation.h"

namespace attend::text {
namespace {

constexpr std::uint32_t kFewestSteps = 1'000'000,
                        kMostSteps = 10'000'000;  // of one match; a tenth of a second
constexpr std::uint32_t kHeapLimit = 64 << 10;    // KiB
constexpr std::size_t kLargestCode = 16 << 10;    // bytes; of larger ones the machine code takes megabytes

// From how many places a match is looked for before the time is. From each it may take kMostSteps, or look at
// the whole text.
constexpr std::size_t kStarts = 64;

// Memory that a thread matches in, whatever the expression.
struct Matching {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);

  Matching() {
    if (data == nullptr || context == nullptr) throw std::bad_alloc();
    pcre2_set_heap_limit(context, kHeapLimit);
  }
  ~Matching() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
  Matching(const Matching&) = delete;
  Matching& operator=(const Matching&) = delete;
};

// PCRE2 10.42 takes x+(?>(?:y)?)x for x++..., as if what can be nothing were not there. In a translated
// expression these characters stand for nothing else.
bool has_atomic_group(std::string_view pattern) {
  const auto has = [&](std::string_view part) { return pattern.find(part) != std::string_view::npos; };
  return has("(?>") || has(")?+") || has(")*+") || has(")++");
}

pcre2_code* compile(const std::string& pattern, int& error) {
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  if (context == nullptr) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  PCRE2_SIZE place = 0;
  const std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
                                PCRE2_USE_OFFSET_LIMIT |
                                (has_atomic_group(pattern) ? PCRE2_NO_AUTO_POSSESS : 0);
  return pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options, &error, &place,
                       context.get());
}

class Regex final : public Pattern {
 public:
  Regex(const io::JsonValue& where, std::string_view expression)
      : shown_("the expression " + io::quoted(expression)) {
    int error = 0;
    code_ = compile(translated_regex(where, expression), error);
    if (code_ == nullptr) {
      PCRE2_UCHAR message[200];
      pcre2_get_error_message(error, message, sizeof message);
      where.fail("is not a regular expression: ", reinterpret_cast<const char*>(message));
    }
    std::size_t size = 0;
    pcre2_pattern_info(code_, PCRE2_INFO_SIZE, &size);
    if (size <= kLargestCode) pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);  // without it slower, not wrong
  }
  ~Regex() override { pcre2_code_free(code_); }
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  void find(std::string_view text, std::size_t begin, std::size_t end, std::vector<Match>& matches,
            Allowance& allowance) const override {
    thread_local Matching matching;
    const std::string_view inside = text.substr(begin, end - begin);
    pcre2_set_match_limit(matching.context, static_cast<std::uint32_t>(std::clamp<std::size_t>(
                                                4 * inside.size(), kFewestSteps, kMostSteps)));
    std::size_t start = 0;
    std::size_t last_end = std::string_view::npos;
    while (start <= inside.size() && found(inside, start, matching, allowance)) {
      const PCRE2_SIZE* place = pcre2_get_ovector_pointer(matching.data);
      if (place[0] == place[1] &&
          place[1] == last_end) {  // nothing, right after the last match: try further on
        start = after_character(inside, place[1]);
        continue;
      }
      matches.push_back({begin + place[0], begin + place[1]});
      start = last_end = place[1];
      if (matches.size() % kStarts == 0) allowance.require_time(shown_);
    }
  }

 private:
  static std::size_t after_character(std::string_view text, std::size_t at) {
    return at + (at < text.size() ? static_cast<std::size_t>(io::utf8_size(text[at])) : 1);
  }

  // The next match that begins at `start` or later, looked for from a few places at a time.
  bool found(std::string_view text, std::size_t start, Matching& matching, Allowance& allowance) const {
    for (;;) {
      std::size_t last = std::min(start + kStarts, text.size());
      while (last < text.size() && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) ++last;
      pcre2_set_offset_limit(matching.context, last);
      if (matches_from(text, start, matching)) return true;
      if (last == text.size()) return false;
      allowance.require_time(shown_);
      start = after_character(text, last);
    }
  }

  bool matches_from(std::string_view text, std::size_t start, Matching& matching) const {
    const auto match = [&](std::uint32_t options) {
      return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), start,
                         PCRE2_NO_UTF_CHECK | options, matching.data, matching.context);
    };
    int result = match(0);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match(PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result < 0) refuse("tokenizer", shown_, " takes too many steps on this text");
    return true;
  }

  std::string shown_;
  pcre2_code* code_ = nullptr;
};

}  // namespace

std::unique_ptr<const Pattern> compile_pattern(const io::JsonValue& where, std::string_view expression) {
  if (expression.size() > 10'000) where.fail("is longer than 10000 bytes");
  return std::make_unique<Regex>(where, expression);
}

}  // namespace attend::text
