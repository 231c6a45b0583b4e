// The heads that are worth seeing for a text. The mean over all heads of a model says little: most of them
// rest on special tokens or look at everything. A few link words with each other, and those are shown first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <attend/lens.h>

namespace attend {

// A word that looks at another: places in Reading::words().
struct WordLink {
  std::size_t from = 0, to = 0;
  double weight = 0;  // of all weight of `from`, special tokens included
  // By how much that is more than other words give to `to`, or than words give at this distance, on average.
  double beyond = 0;
};

enum class HeadRole : std::uint8_t {
  links,     // words that are not neighbours
  previous,  // each word with the one before
  next,      // each word with the one after
};
std::string_view name_of(HeadRole role) noexcept;  // links, previous, next

struct NotableHead {
  std::int64_t layer = 0, head = 0;  // from 1
  HeadRole role = HeadRole::links;
  // How sure it is: the weight of its strongest link, or the mean weight of the neighbour.
  double share = 0;
  std::vector<WordLink> links{};  // strongest first; none of a head of neighbours
};

// Measured between the words of the first tokens of a text, so that a long one takes no longer.
inline constexpr std::int64_t kNotableTokens = 256;
inline constexpr std::size_t kNotableHeads = 6;

// First the heads that link words, the clearest one first, each for another pair of words; then the surest
// head of the previous and of the next word. Punctuation and special tokens are not counted as words.
// `focus`, a place in words(): only what this word links to counts. Empty where no head stands out, as in a
// model that has not learned, and where not all numbers are finite. Of a reading of one layer, heads of that
// layer.
std::vector<NotableHead> notable_heads(const Reading& reading, std::optional<std::size_t> focus = {},
                                       std::size_t most = kNotableHeads);

// What it does: "68% of the weight of “it” goes to “animal”", "looks at the word before: 97% of the weight".
std::string sentence_of(const Reading& reading, const NotableHead& head);

}  // namespace attend
