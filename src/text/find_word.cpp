#include <attend/words.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/slips.h"
#include "io/utf8.h"
#include "text/unicode.h"

namespace attend {
namespace {

using namespace text;

std::string lower(std::string_view given) {
  std::string result;
  for (std::size_t at = 0; at < given.size();) {
    char32_t out[4];
    const int count = lower_case(io::next_char(given, at), out);
    for (int i = 0; i < count; ++i) io::append_char(result, out[i]);
  }
  return result;
}

struct Name {
  std::string word;
  std::optional<std::size_t> number;  // from 1
};

// "the#2" is the second "the". "#2" alone, and "c#", are words.
Name parse(std::string_view name) {
  const std::size_t hash = name.rfind('#');
  if (hash != std::string_view::npos && hash > 0 && hash + 1 < name.size()) {
    std::size_t number = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + hash + 1, end, number);
    if (error == std::errc() && stop == end && number > 0) return {std::string(name.substr(0, hash)), number};
  }
  return {std::string(name), std::nullopt};
}

enum class Case { any, preferred };

// In any case, or with Case::preferred only those that are written alike, where there are some.
std::vector<std::size_t> places_of(std::span<const Word> words, const std::string& name, Case letters) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; letters == Case::preferred && i < words.size(); ++i) {
    if (words[i].text == name) places.push_back(i);
  }
  if (!places.empty()) return places;
  const std::string wanted = lower(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (lower(words[i].text) == wanted) places.push_back(i);
  }
  return places;
}

constexpr std::size_t kMostSuggested = 3, kLongestShown = 40;

std::string quoted_word(std::string_view word) {
  if (word.size() <= kLongestShown) return joined('"', word, '"');
  std::size_t cut = kLongestShown;
  while (cut > 0 && (static_cast<unsigned char>(word[cut]) & 0xC0) == 0x80) --cut;
  return joined('"', word.substr(0, cut), "…\"");
}

// ; close to it are "street", "tired"
std::string close_words(std::span<const Word> words, const std::string& name) {
  if (name.empty()) return {};
  const std::string wanted = lower(name.substr(0, kLongestShown));
  std::vector<std::pair<std::size_t, std::string>> ranked;
  std::set<std::string> seen;
  for (const Word& word : words) {
    const std::string text = lower(word.text.substr(0, kLongestShown));
    if (word.special || !seen.insert(text).second) continue;
    std::size_t far = slips_between(wanted, text);
    if (text.starts_with(wanted) || wanted.starts_with(text)) far = std::min<std::size_t>(far, 1);
    if (far < wanted.size() && far <= std::max<std::size_t>(1, wanted.size() / 2))
      ranked.emplace_back(far, word.text);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string list;
  for (std::size_t i = 0; i < std::min(ranked.size(), kMostSuggested); ++i)
    list.append(i == 0 ? "; close to it: " : ", ").append(quoted_word(ranked[i].second));
  return list;
}

// The places of "it" or, where no word is written so, of "the#2".
std::vector<std::size_t> named_places(std::span<const Word> words, const std::string& name, Case letters) {
  std::vector<std::size_t> places = places_of(words, name, letters);
  const Name parsed = parse(name);
  if (!places.empty() || !parsed.number) return places;
  places = places_of(words, parsed.word, letters);
  if (*parsed.number > places.size()) return {};
  return {places[*parsed.number - 1]};
}

std::string repaired(std::string_view text) {
  return io::is_utf8(text) ? std::string(text) : io::repair_utf8(text);
}

}  // namespace

std::vector<std::size_t> find_words(std::span<const Word> words, std::string_view name) {
  return named_places(words, repaired(name), Case::any);
}

std::size_t find_word(std::span<const Word> words, std::string_view given) {
  const std::string name = repaired(given);
  const std::vector<std::size_t> places = named_places(words, name, Case::preferred);
  if (places.size() == 1) return places.front();
  if (places.size() > 1) {
    refuse("lens", quoted_word(name), " occurs ", places.size(), " times; choose one with ",
           quoted_word(name + "#1"), " to ", quoted_word(joined(name, '#', places.size())));
  }
  const Name parsed = parse(name);
  if (const std::size_t count = places_of(words, parsed.word, Case::preferred).size();
      parsed.number && count > 0) {
    refuse("lens", quoted_word(parsed.word), " occurs ", count, count == 1 ? " time" : " times",
           ", so there is no ", quoted_word(name));
  }
  refuse("lens", "there is no word ", quoted_word(name), " in the text", close_words(words, parsed.word));
}

}  // namespace attend
