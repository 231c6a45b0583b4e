#include "support/covering_array.h"

namespace attend {
namespace {

class Missing {
 public:
  explicit Missing(const std::vector<int>& sizes) : sizes_(sizes) {
    for (std::size_t p = 0; p < sizes.size(); ++p) {
      for (std::size_t r = p + 1; r < sizes.size(); ++r) {
        pairs_.emplace_back(static_cast<std::size_t>(sizes[p] * sizes[r]), true);
        left_ += pairs_.back().size();
      }
    }
  }

  bool at(std::size_t p, int a, std::size_t r, int b) const {
    return p < r ? pairs_[index(p, r)][place(a, r, b)] : pairs_[index(r, p)][place(b, p, a)];
  }
  void cover(std::size_t p, int a, std::size_t r, int b) {
    auto cell = pairs_[index(p, r)].begin() + static_cast<std::ptrdiff_t>(place(a, r, b));
    left_ -= *cell ? 1 : 0;
    *cell = false;
  }
  std::size_t left() const { return left_; }

 private:
  std::size_t index(std::size_t p, std::size_t r) const {
    return p * sizes_.size() - p * (p + 1) / 2 + (r - p - 1);
  }
  std::size_t place(int a, std::size_t r, int b) const { return static_cast<std::size_t>(a * sizes_[r] + b); }

  std::vector<int> sizes_;
  std::vector<std::vector<bool>> pairs_;
  std::size_t left_ = 0;
};

std::vector<int> first_missing(const std::vector<int>& sizes, const Missing& missing) {
  std::vector<int> row(sizes.size(), -1);
  for (std::size_t p = 0; p < sizes.size(); ++p) {
    for (std::size_t r = p + 1; r < sizes.size(); ++r) {
      for (int a = 0; a < sizes[p]; ++a) {
        for (int b = 0; b < sizes[r]; ++b) {
          if (!missing.at(p, a, r, b)) continue;
          row[p] = a;
          row[r] = b;
          return row;
        }
      }
    }
  }
  return row;
}

}  // namespace

std::vector<std::vector<int>> covering_array(const std::vector<int>& sizes) {
  std::vector<std::vector<int>> rows;
  Missing missing(sizes);
  while (missing.left() > 0) {
    std::vector<int> row = first_missing(sizes, missing);
    for (std::size_t p = 0; p < sizes.size(); ++p) {
      if (row[p] >= 0) continue;
      int best = 0, most = -1;
      for (int step = 0; step < sizes[p]; ++step) {
        // Start at a different value in each row, so that ties do not always fall to the first one.
        const int value = static_cast<int>((rows.size() + static_cast<std::size_t>(step)) %
                                           static_cast<std::size_t>(sizes[p]));
        int gain = 0;
        for (std::size_t r = 0; r < sizes.size(); ++r) {
          if (r != p && row[r] >= 0 && missing.at(p, value, r, row[r])) ++gain;
        }
        if (gain > most) best = value, most = gain;
      }
      row[p] = best;
    }
    for (std::size_t p = 0; p < sizes.size(); ++p) {
      for (std::size_t r = p + 1; r < sizes.size(); ++r) missing.cover(p, row[p], r, row[r]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace attend
