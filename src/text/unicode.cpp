#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <unordered_map>

#include "text/unicode_differences.h"

namespace attend::text {
namespace {

constexpr char32_t kLastChar = 0x10FFFF;
using Block = std::array<std::uint16_t, 256>;

template <class Ranges>
bool contains(const Ranges& ranges, char32_t c) {
  const auto after = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                      [](char32_t value, const auto& range) { return value < range.first; });
  return after != std::begin(ranges) && c <= std::prev(after)->last;
}

bool is_letter(utf8proc_category_t category) {
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool is_mark(utf8proc_category_t category) {
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}
bool is_number(utf8proc_category_t category) {
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}
bool is_punctuation(utf8proc_category_t category) {
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}
bool is_symbol(utf8proc_category_t category) {
  return category >= UTF8PROC_CATEGORY_SM && category <= UTF8PROC_CATEGORY_SO;
}
bool is_separator(utf8proc_category_t category) {
  return category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP;
}

int decomposition(char32_t c, int options, char32_t* out) {
  const auto size =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), reinterpret_cast<utf8proc_int32_t*>(out), 32,
                              static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options), nullptr);
  return static_cast<int>(std::clamp<utf8proc_ssize_t>(size, 0, 32));
}

std::uint16_t work_out_flags(char32_t c) {
  using namespace differences;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  unsigned flags = 0;
  const auto decide = [&](unsigned flag, bool ours, const auto& added, const auto& removed) {
    if ((ours && !contains(removed, c)) || contains(added, c)) flags |= flag;
  };
  const bool other = category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
                     category == UTF8PROC_CATEGORY_CO;
  const bool word = is_letter(category) || is_mark(category) || category == UTF8PROC_CATEGORY_ND ||
                    category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC || c == 0x200C ||
                    c == 0x200D;
  decide(kWhite, is_separator(category) || (c >= 9 && c <= 13) || c == 0x85, kWhiteAdded, kWhiteRemoved);
  decide(kControl, (other && c != 9 && c != 10 && c != 13) || c == 0xFFFD, kControlAdded, kControlRemoved);
  decide(kPunctuation, is_punctuation(category) || (c < 128 && is_symbol(category)), kPunctuationAdded,
         kPunctuationRemoved);
  decide(kNonspacing, category == UTF8PROC_CATEGORY_MN, kNonspacingAdded, kNonspacingRemoved);
  decide(kMark, is_mark(category), kMarkAdded, kMarkRemoved);
  decide(kNumeric, is_number(category), kNumericAdded, kNumericRemoved);
  decide(kWord, word, kWordAdded, kWordRemoved);
  decide(kLetter, is_letter(category), kLetterAdded, kLetterRemoved);
  decide(kNumber, is_number(category), kNumberAdded, kNumberRemoved);
  if (!contains(kUndecomposed, c) && category != UTF8PROC_CATEGORY_CS) {
    char32_t parts[32];
    if (decomposition(c, UTF8PROC_DECOMPOSE, parts) != 1 || parts[0] != c) flags |= kDecomposes;
    if (decomposition(c, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, parts) != 1 || parts[0] != c)
      flags |= kCompatible;
  }
  // The normal forms there know no mark that their table of marks does not know.
  if ((flags & kMark) != 0 && utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class != 0) {
    flags |= kCombining;
  }
  char32_t lower[2];
  if (lower_case(c, lower) != 1 || lower[0] != c) flags |= kCasesLower;
  return static_cast<std::uint16_t>(flags);
}

// Pairs of characters and what they compose to; hangul is arithmetic.
const std::unordered_map<std::uint64_t, char32_t>& compositions() {
  static const auto table = [] {
    std::unordered_map<std::uint64_t, char32_t> pairs;
    for (char32_t c = 0xC0; c <= 0x1D1FF; ++c) {
      const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
      if (property->decomp_seqindex == UINT16_MAX || property->decomp_type != 0 || property->comp_exclusion ||
          !is(c, kDecomposes)) {
        continue;
      }
      // The pair that a full decomposition comes from: all of it but the last character, composed, and the
      // last.
      char32_t parts[32];
      const int size = decomposition(c, UTF8PROC_DECOMPOSE, parts);
      if (size < 2) continue;
      utf8proc_int32_t head[32];
      std::copy(parts, parts + size - 1, head);
      const auto composed = utf8proc_normalize_utf32(
          head, size - 1, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
      if (composed != 1) continue;
      pairs.emplace(std::uint64_t{static_cast<char32_t>(head[0])} << 32 | parts[size - 1], c);
    }
    return pairs;
  }();
  return table;
}

}  // namespace

namespace detail {

const std::uint16_t* flags_of_block(char32_t block) {
  static std::array<std::atomic<const Block*>, (kLastChar >> 8) + 1> blocks{};
  const Block* known = blocks[block].load(std::memory_order_acquire);
  if (known != nullptr) return known->data();
  auto fresh = std::make_unique<Block>();
  for (char32_t i = 0; i < 256; ++i) (*fresh)[i] = work_out_flags(block << 8 | i);
  // Whoever is first wins; the tables live as long as the process.
  if (blocks[block].compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel))
    known = fresh.release();
  return known->data();
}

}  // namespace detail

int combining_class(char32_t c) {
  return is(c, kCombining) ? utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class : 0;
}

void decompose(char32_t c, bool compatible, std::vector<char32_t>& out) {
  if (!is(c, compatible ? kCompatible : kDecomposes)) {
    out.push_back(c);
    return;
  }
  char32_t parts[32];
  const int size = decomposition(c, UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0), parts);
  out.insert(out.end(), parts, parts + size);
}

char32_t compose(char32_t first, char32_t second) {
  constexpr char32_t kSyllable = 0xAC00, kLead = 0x1100, kVowel = 0x1161, kTail = 0x11A7;
  constexpr char32_t kLeads = 19, kVowels = 21, kTails = 28;
  if (first - kLead < kLeads && second - kVowel < kVowels) {
    return kSyllable + ((first - kLead) * kVowels + (second - kVowel)) * kTails;
  }
  if (first - kSyllable < kLeads * kVowels * kTails && (first - kSyllable) % kTails == 0 && second > kTail &&
      second - kTail < kTails) {
    return first + (second - kTail);
  }
  const auto found = compositions().find(std::uint64_t{first} << 32 | second);
  return found == compositions().end() ? 0 : found->second;
}

bool grapheme_break(char32_t previous, char32_t c, std::int32_t& state) {
  using namespace differences;
  const auto usual = [](char32_t a, char32_t b) {
    return utf8proc_grapheme_break(static_cast<utf8proc_int32_t>(a), static_cast<utf8proc_int32_t>(b));
  };
  const bool breaks = utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous),
                                                       static_cast<utf8proc_int32_t>(c), &state);
  constexpr char32_t kLetterA = U'a', kAcute = 0x301,
                     kPrepend = 0x600;  // one of each kind, known to utf8proc
  if (contains(kBreaksAdded, previous) || contains(kBreaksAdded, c)) return true;
  if (contains(kJoinsAdded, c)) return usual(previous, kAcute);
  if (contains(kPrependsAdded, previous)) return usual(kPrepend, c);
  if (contains(kPrependsRemoved, previous)) return usual(kLetterA, c);
  return breaks;
}

int lower_case(char32_t c, char32_t* out) {
  if (c == 0x130) {  // the only one that becomes two characters
    out[0] = U'i';
    out[1] = 0x307;
    return 2;
  }
  for (const auto& run : differences::kLowercase) {
    if (c < run.first || c > run.last) continue;
    out[0] = static_cast<char32_t>(static_cast<std::int32_t>(c) + run.distance);
    return 1;
  }
  out[0] = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  return 1;
}

}  // namespace attend::text
