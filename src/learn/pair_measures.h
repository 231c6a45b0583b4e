// How good vectors of sentences are, judged by pairs.
#pragma once

#include <attend/tensor.h>

#include <span>
#include <vector>

#include "train/pair_loss.h"

namespace attend::learn {

// 1 for the smallest; equal values share the mean of their ranks.
std::vector<double> mean_ranks(std::span<const double> values);

// NaN where one side does not vary.
double pearson(std::span<const double> x, std::span<const double> y);
// Pearson's of the ranks: whether one grows with the other, however it grows.
double spearman(std::span<const double> x, std::span<const double> y);

// How each vector finds its partner among all of the other side, both ways. A partner that is as near as
// another counts as ranked after it, so that vectors which are all alike find nothing.
struct PartnerSearch {
  double nearest = 0;          // the share whose own partner is the nearest
  double reciprocal_rank = 0;  // the mean of 1 / the partner's rank
};
PartnerSearch search_partners(ConstTensorView first, ConstTensorView second, const train::Contrast& contrast);

}  // namespace attend::learn
