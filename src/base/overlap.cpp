#include "base/overlap.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace attend::detail {
namespace {

// Element (i, j, ...) of b starts base + sum of step * t bytes after element (k, l, ...) of a, where each t
// runs from 0 to its last value. The views overlap when that distance can lie between lowest and highest.
struct Distances {
  struct Term {
    std::int64_t step = 0, last = 0;
  };
  std::array<Term, 2 * kMaxRank> terms;
  int count = 0;
  std::int64_t base = 0, lowest = 0, highest = 0;

  // Steps become positive, and equal steps one term: then each term has few values left to try.
  void add(std::int64_t step, std::int64_t size) {
    if (step == 0 || size <= 1) return;
    if (step < 0) {
      base += step * (size - 1);
      step = -step;
    }
    for (int i = 0; i < count; ++i) {
      Term& term = terms[static_cast<std::size_t>(i)];
      if (term.step == step) {
        term.last += size - 1;
        return;
      }
    }
    terms[static_cast<std::size_t>(count++)] = {step, size - 1};
  }

  void add(ConstTensorView view, int sign) {
    const auto bytes = static_cast<std::int64_t>(size_of(view.dtype()));
    for (int axis = 0; axis < view.rank(); ++axis) {
      // An axis of one element may have any stride, even one that overflows here.
      if (view.size(axis) > 1) add(sign * bytes * view.stride(axis), view.size(axis));
    }
  }
};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Longest step first: what the shorter ones can still reach leaves it a value or two in any usual layout.
bool reaches(const Distances& d, int first, std::int64_t base, int& tries) {
  if (first == d.count) return base >= d.lowest && base <= d.highest;
  std::int64_t reach = 0;
  for (int i = first + 1; i < d.count; ++i) {
    reach += d.terms[static_cast<std::size_t>(i)].step * d.terms[static_cast<std::size_t>(i)].last;
  }
  const auto& term = d.terms[static_cast<std::size_t>(first)];
  const std::int64_t from = std::max<std::int64_t>(0, -floor_divide(-(d.lowest - base - reach), term.step));
  const std::int64_t to = std::min(term.last, floor_divide(d.highest - base, term.step));
  for (std::int64_t t = from; t <= to; ++t) {
    if (--tries < 0 || reaches(d, first + 1, base + t * term.step, tries)) return true;
  }
  return false;
}

}  // namespace

bool overlaps(ConstTensorView a, ConstTensorView b) {
  if (!a.given() || !b.given() || a.count() == 0 || b.count() == 0) return false;
  Distances d;
  d.base = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(b.raw()) -
                                     reinterpret_cast<std::intptr_t>(a.raw()));
  d.lowest = 1 - static_cast<std::int64_t>(size_of(b.dtype()));
  d.highest = static_cast<std::int64_t>(size_of(a.dtype())) - 1;
  d.add(a, -1);
  d.add(b, 1);
  std::sort(d.terms.begin(), d.terms.begin() + d.count,
            [](const auto& x, const auto& y) { return x.step > y.step; });
  int tries = 10'000;
  return reaches(d, 0, d.base, tries);
}

bool same_elements(ConstTensorView a, ConstTensorView b) {
  if (a.raw() != b.raw() || a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (a.size(axis) > 1 && a.stride(axis) != b.stride(axis)) return false;
  }
  return true;
}

bool may_repeat_elements(ConstTensorView view) {
  if (view.count() == 0) return false;
  std::array<std::pair<std::int64_t, std::int64_t>, kMaxRank> axes;  // |stride|, size
  axes.fill({INT64_MAX, 1});
  std::size_t count = 0;
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.size(axis) > 1) axes[count++] = {std::abs(view.stride(axis)), view.size(axis)};
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;  // how far the axes so far lead
  for (std::size_t i = 0; i < count; ++i) {
    const auto [stride, size] = axes[i];
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

}  // namespace attend::detail
