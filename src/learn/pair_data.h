// Pairs as a model reads them: which are learned from, in which order, and which are held out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "learn/config.h"
#include "learn/pair_file.h"
#include "train/model.h"
#include "train/pair_loss.h"

namespace attend::learn {

// As numbers of texts; equal texts have the same number.
struct Pair {
  std::size_t first, second;
  double score;
};

class PairData {
 public:
  // data.file, as data.model reads it: with its prompt, cut to data.length tokens. Throws FileError where too
  // few pairs are left on either side, or where those that are held out all have one score.
  explicit PairData(const Config& config);

  bool scored() const noexcept { return scored_; }
  std::int64_t longest() const noexcept { return longest_; }  // tokens of a text
  std::size_t batch_size() const noexcept { return batch_; }  // training.batch, or all where they are fewer
  std::size_t learned() const noexcept { return learned_.size(); }
  const std::vector<Pair>& held_out() const noexcept { return held_; }
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }  // of the file's pairs

  // Those of batch number `number`. Each pass over all pairs has its own order; the remainder that does not
  // fill a batch waits for the next pass.
  std::vector<Pair> batch(std::uint64_t number) const;
  std::vector<std::vector<Pair>> held_out_batches() const;

  // The first texts of all pairs, then the second.
  train::Batch texts_of(const std::vector<Pair>& pairs) const;

 private:
  void read_texts(const Config& config, const PairFile& file);
  void split(const Config& config, const std::vector<Pair>& pairs);

  bool scored_;
  std::uint64_t seed_, fingerprint_ = 0;
  std::int64_t longest_ = 1;
  std::size_t batch_ = 1;
  std::vector<std::vector<std::int32_t>> texts_;
  std::vector<Pair> learned_, held_;
};

}  // namespace attend::learn
