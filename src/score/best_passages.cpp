#include "score/best_passages.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attend::score {
namespace {

bool is_better_passage(const ScoredText& a, const ScoredText& b) {
  const float x = a.scores.front(), y = b.scores.front();
  if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
  if (!std::isnan(x) && x != y) return x > y;
  return a.index < b.index;
}

}  // namespace

void BestPassages::add(ScoredText passage) {
  kept_.push_back(std::move(passage));
  if (!most_) return;
  std::push_heap(kept_.begin(), kept_.end(), is_better_passage);
  if (kept_.size() <= *most_) return;
  std::pop_heap(kept_.begin(), kept_.end(), is_better_passage);
  kept_.pop_back();
}

std::vector<ScoredText> BestPassages::take() {
  std::sort(kept_.begin(), kept_.end(), is_better_passage);
  return std::exchange(kept_, {});
}

}  // namespace attend::score
