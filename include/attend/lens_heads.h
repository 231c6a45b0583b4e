// What each head of a model does with a text: its habits, and which heads link one word to another.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <attend/lens.h>

namespace attend {

// The words that a relation links, such as a verb and its subject.
struct WordRelation {
  std::size_t from = 0, to = 0;  // of Reading::words()
};

// Where the weight of a head goes, on average over the tokens that are not special: shares of 1, which may
// overlap.
struct HeadProfile {
  std::int64_t layer = 0, head = 0;
  double previous = 0;    // the token before
  double next = 0;        // the token after
  double same_token = 0;  // the token itself
  double same_word = 0;   // the other tokens of its word
  double first = 0;       // the first token of the text, special or not
  double separator = 0;   // special tokens, such as [CLS] and [SEP]
  // Means over the tokens that already occurred earlier in the text, of which there are `repeated`; 0 where
  // there are none.
  double duplicate = 0;  // the earlier places of the same token
  double induction = 0;  // the tokens that came after those: what may come again (Olsson et al. 2022)
  std::int64_t repeated = 0;
  double entropy = 0;               // of a row, in nats
  double broad = 0;                 // that entropy as a share of the largest possible
  std::vector<double> relations{};  // of each relation: the weight from one word to the other
};
std::vector<HeadProfile> profile_heads(const Reading& reading, std::span<const WordRelation> relations = {});

// The habit that stands out: "separator", "previous", "next", "same token", "same word", "first token" (a
// sink for what a head has no use for), "induction" or "duplicate" for half of the weight or more, "broad"
// where a row is spread over nearly all tokens, else "mixed"; "not finite" where its weights are NaN.
std::string_view habit_of(const HeadProfile& profile) noexcept;

// How strongly a head links one word to another.
struct HeadLink {
  std::int64_t layer = 0, head = 0;
  double weight = 0;  // the sum over the tokens of the key, the mean over those of the query
  double share = 0;   // of what does not go to special tokens
};
// Every head, the strongest link first; of several pairs, such as all verbs and their subjects, the mean.
std::vector<HeadLink> find_heads(const Reading& reading, const WordRelation& relation);
std::vector<HeadLink> find_heads(const Reading& reading, std::span<const WordRelation> pairs);

// How much attention each unit receives, from all tokens together: (units), which add up to the number of
// tokens. The mean over the chosen heads.
std::vector<double> lens_received(const Reading& reading, const HeadChoice& heads,
                                  std::span<const Word> units);

}  // namespace attend
