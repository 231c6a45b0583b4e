// \p{name} of Oniguruma for PCRE2: the same characters under every name, or the name is not known here.
//
// PCRE2's tables are older, so the characters that have been added since are listed beside each category and
// script; and a script's name stands for more characters there ("extensions") than in Oniguruma, which is why
// it is asked for with "sc:". tests/golden/text/expressions.jsonl has what `tokenizers` finds for each of
// them.
#include <array>
#include <span>
#include <sstream>
#include <string>

#include "text/regex_class.h"
#include "text/unicode_differences.h"

namespace attend::text {
namespace {

using Ranges = std::span<const differences::Range>;

struct Category {
  std::string_view name, long_name;
  Ranges added = {};
};
constexpr Category kCategories[] = {
    {"l", "letter", differences::kPatternL},
    {"lu", "uppercaseletter", differences::kPatternLu},
    {"ll", "lowercaseletter", differences::kPatternLl},
    {"lt", "titlecaseletter"},
    {"lm", "modifierletter", differences::kPatternLm},
    {"lo", "otherletter", differences::kPatternLo},
    {"m", "mark", differences::kPatternM},
    {"mn", "nonspacingmark", differences::kPatternMn},
    {"mc", "spacingmark", differences::kPatternMc},
    {"me", "enclosingmark"},
    {"n", "number", differences::kPatternN},
    {"nd", "decimalnumber", differences::kPatternNd},
    {"nl", "letternumber"},
    {"no", "othernumber", differences::kPatternNo},
    {"p", "punctuation", differences::kPatternP},
    {"pc", "connectorpunctuation"},
    {"pd", "dashpunctuation", differences::kPatternPd},
    {"ps", "openpunctuation"},
    {"pe", "closepunctuation"},
    {"pi", "initialpunctuation"},
    {"pf", "finalpunctuation"},
    {"po", "otherpunctuation", differences::kPatternPo},
    {"s", "symbol", differences::kPatternS},
    {"sm", "mathsymbol", differences::kPatternSm},
    {"sc", "currencysymbol"},
    {"sk", "modifiersymbol"},
    {"so", "othersymbol", differences::kPatternSo},
    {"z", "separator"},
    {"zs", "spaceseparator"},
    {"zl", "lineseparator"},
    {"zp", "paragraphseparator"},
    {"cc", "control"},
    {"cf", "format", differences::kPatternCf},
    {"co", "privateuse"},
};

struct Script {
  std::string_view name;
  Ranges added = {};
};
constexpr Script kScripts[] = {
    {"arabic", differences::kScriptArabic},
    {"armenian"},
    {"bengali"},
    {"cyrillic", differences::kScriptCyrillic},
    {"devanagari", differences::kScriptDevanagari},
    {"ethiopic"},
    {"georgian"},
    {"greek"},
    {"gujarati"},
    {"gurmukhi"},
    {"han", differences::kScriptHan},
    {"hangul"},
    {"hebrew"},
    {"hiragana", differences::kScriptHiragana},
    {"kannada", differences::kScriptKannada},
    {"katakana", differences::kScriptKatakana},
    {"khmer"},
    {"lao", differences::kScriptLao},
    {"latin", differences::kScriptLatin},
    {"malayalam"},
    {"mongolian"},
    {"myanmar", differences::kScriptMyanmar},
    {"sinhala"},
    {"tamil"},
    {"telugu"},
    {"thai"},
    {"tibetan"},
};

// Names differ neither by case nor by spaces, hyphens and underscores.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return plain;
}

std::string class_of(std::string_view property, Ranges added) {
  std::ostringstream set;
  set << "\\p{" << property << "}" << std::hex;
  for (const auto& range : added)
    set << "\\x{" << std::uint32_t{range.first} << "}-\\x{" << std::uint32_t{range.last} << "}";
  return set.str();
}

// "Lu": older versions of PCRE2 know no other spelling.
std::string spelled(std::string_view name) {
  std::string capital(name);
  capital[0] = static_cast<char>(capital[0] - 32);
  return capital;
}

std::string category_class(std::string_view name) {
  for (const Category& category : kCategories) {
    if (category.name == name) return class_of(spelled(name), category.added);
  }
  return {};
}

}  // namespace

std::optional<CharacterSet> property_set(std::string_view given) {
  const std::string name = plain_name(given);
  for (const Category& category : kCategories) {
    if (category.name != name && category.long_name != name) continue;
    const char first = category.name[0];
    // U+1171E, of the category Mn in old tables, is of Mc.
    if (category.name == "mn")
      return CharacterSet{.others = {"(?!\\x{1171e})[" + category_class("mn") + "]"}, .cased = true};
    return CharacterSet{.plain = category_class(category.name),
                        .cased = first == 'l' || first == 'm' || first == 'n' || first == 's'};
  }
  for (const Script& script : kScripts) {
    if (script.name == name)
      return CharacterSet{.plain = class_of("sc:" + spelled(name), script.added), .cased = true};
  }
  if (name == "lc" || name == "casedletter")
    return CharacterSet{.plain = category_class("lu") + category_class("ll") + category_class("lt"),
                        .cased = true};
  // What is of no other category: old tables have too many of them.
  if (name == "c" || name == "other") {
    CharacterSet others{.cased = true};
    std::string assigned = "[^";
    for (const char* const category : {"l", "m", "n", "p", "s", "z"}) assigned += category_class(category);
    others.others.push_back(assigned + "]");
    return others;
  }
  return std::nullopt;
}

CharacterSet digit_set() { return {.plain = category_class("nd")}; }

CharacterSet space_set() { return {.plain = R"(\p{Z}\x{09}-\x{0D}\x{85})"}; }

// Superscripts and fractions of Latin-1 are in \w, but not in [\w].
CharacterSet word_set(bool in_class) {
  return {
      .plain = category_class("l") + category_class("m") + category_class("nd") +
               R"(\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})" +
               (in_class ? "" : R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})"),
      .cased = true};
}

}  // namespace attend::text
