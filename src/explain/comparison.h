// One word in two texts, or several times in one: how similar its vectors are, layer by layer, and what each
// occurrence took from its context.
#pragma once

#include <attend/lens.h>

#include <cstddef>
#include <string>
#include <vector>

#include "draw/terminal.h"

namespace attend::explain {

struct Occurrence {
  const Reading* reading = nullptr;
  std::size_t word = 0;
};

// What an occurrence took from each word of its text, averaged over layers, and where the rest came from.
struct Taken {
  std::vector<std::size_t> words;  // without itself and special tokens, largest share first
  std::vector<double> shares;      // the share of each of `words` in all that it took
  double itself = 0, special = 0;
};

struct OccurrencePair {
  std::size_t first = 0, second = 0;  // indices of the occurrences
  double static_cosine = 0;
  std::vector<double> cosines;  // of layers 0, 1, 2, ...
};

struct Comparison {
  std::vector<Occurrence> occurrences;
  std::vector<OccurrencePair> pairs;
  std::vector<Taken> taken;  // one for each occurrence
};

// The occurrence of a word in each of two texts.
Comparison compare_texts(const Reading& first, const Reading& second, const std::string& word,
                         const std::string& other_word);
// All pairs of occurrences in one text, up to the first four occurrences.
Comparison compare_occurrences(const Reading& reading, const std::string& word);

std::string comparison_text(const Comparison& comparison, const draw::Terminal& terminal);
std::string comparison_json(const Comparison& comparison);

}  // namespace attend::explain
