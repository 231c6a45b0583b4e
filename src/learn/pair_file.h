// Pairs of sentences, from a file of lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attend::learn {

struct SentencePair {
  std::string first, second;
  double score = 0;       // from -1 to 1, where there are scores
  std::int64_t line = 0;  // from 1, in the file
};

struct PairFile {
  std::vector<SentencePair> pairs;
  bool scored = false;  // all of them, or none
};

// .tsv: "first TAB second", or "first TAB second TAB score". A first line of names (sentence1, sentence2 and
// score; anchor and positive; text1, text2 and label; first and second) is a header, which may have them in
// any order and alongside others. .jsonl: one object per line, with these names as keys. Empty lines are
// skipped.
//
// Scores are divided by score_max, and must then be from -1 to 1, as cosines are. Throws FileError, with the
// line, for a line that is not such a pair.
PairFile read_pairs(const std::filesystem::path& file, double score_max);

// The same for a text in memory; its name says which of the two formats it has.
PairFile parse_pairs(std::string_view text, const std::filesystem::path& file, double score_max);

}  // namespace attend::learn
