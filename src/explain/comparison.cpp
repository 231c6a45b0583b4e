#include "explain/comparison.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/largest_first.h"

namespace attend::explain {
namespace {

constexpr std::size_t kMostOccurrences = 4;

Taken taken_by(const Occurrence& occurrence, const Tensor& layers) {
  const std::vector<Word>& words = occurrence.reading->words();
  std::vector<double> mean(words.size());
  for (std::size_t i = 0; i < layers.values<double>().size(); ++i)
    mean[i % words.size()] += layers.values<double>()[i] / static_cast<double>(layers.size(0));
  Taken taken;
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (w == occurrence.word) {
      taken.itself = mean[w];
    } else if (words[w].special) {
      taken.special += mean[w];
    } else {
      taken.words.push_back(w);
    }
  }
  std::stable_sort(taken.words.begin(), taken.words.end(),
                   [&](std::size_t a, std::size_t b) { return larger_first(mean[a], mean[b]); });
  for (const std::size_t w : taken.words) taken.shares.push_back(mean[w]);
  return taken;
}

Comparison compare(std::vector<Occurrence> occurrences) {
  Comparison result;
  result.taken.resize(occurrences.size());
  for (std::size_t i = 0; i < occurrences.size(); ++i) {
    for (std::size_t j = i + 1; j < occurrences.size(); ++j) {
      const Occurrence &a = occurrences[i], &b = occurrences[j];
      WordComparison pair = compare_word(*a.reading, a.word, *b.reading, b.word);
      if (j == i + 1) result.taken[i] = taken_by(a, pair.taken_first);
      if (j + 1 == occurrences.size()) result.taken[j] = taken_by(b, pair.taken_second);
      result.pairs.push_back({i, j, pair.static_cosine, std::move(pair.cosines)});
    }
  }
  result.occurrences = std::move(occurrences);
  return result;
}

}  // namespace

Comparison compare_texts(const Reading& first, const Reading& second, const std::string& word,
                         const std::string& other_word) {
  return compare(
      {{&first, find_word(first.words(), word)}, {&second, find_word(second.words(), other_word)}});
}

Comparison compare_occurrences(const Reading& reading, const std::string& word) {
  std::vector<std::size_t> places = find_words(reading.words(), word);
  if (places.size() < 2) {
    const std::size_t only = find_word(reading.words(), word);
    refuse("compare", "\"", reading.words()[only].text,
           "\" occurs once in the text; give a second text, or a text in which it occurs twice");
  }
  places.resize(std::min(places.size(), kMostOccurrences));
  std::vector<Occurrence> occurrences;
  for (const std::size_t place : places) occurrences.push_back({&reading, place});
  return compare(std::move(occurrences));
}

}  // namespace attend::explain
