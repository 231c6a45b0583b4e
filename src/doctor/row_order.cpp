#include "doctor/row_order.h"

#include <cmath>

#include "base/error.h"

namespace attend::doctor {
namespace {

constexpr std::int64_t kMostTextsOrdered = 1000;  // every text is compared with every row

Tensor unit_rows(ConstTensorView matrix) {
  Tensor rows = copy_of(matrix, DType::f64);
  const auto size = static_cast<std::size_t>(rows.size(1));
  for (std::size_t begin = 0; begin < rows.values<double>().size(); begin += size) {
    double squares = 0;
    for (std::size_t j = begin; j < begin + size; ++j)
      squares += rows.values<double>()[j] * rows.values<double>()[j];
    const double length = squares > 0 ? std::sqrt(squares) : 1;
    for (std::size_t j = begin; j < begin + size; ++j) rows.values<double>()[j] /= length;
  }
  return rows;
}

// The nearest row for each text, each row used once. A text keeps its own row if no other is nearer.
std::vector<std::int64_t> nearest_rows(ConstTensorView ours, ConstTensorView reference) {
  constexpr double kTie = 1e-9;
  const Tensor a = unit_rows(ours), b = unit_rows(reference);
  const auto n = static_cast<std::size_t>(a.size(0)), size = static_cast<std::size_t>(a.size(1));
  std::vector<std::int64_t> rows;
  std::vector<bool> taken(n, false);
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t nearest = n;
    double highest = -2;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t j = (i + k) % n;  // its own row first
      if (taken[j]) continue;
      double cosine = 0;
      for (std::size_t c = 0; c < size; ++c)
        cosine += a.values<double>()[i * size + c] * b.values<double>()[j * size + c];
      if (nearest != n && cosine <= highest + kTie) continue;
      highest = cosine;
      nearest = j;
    }
    taken[nearest] = true;
    rows.push_back(static_cast<std::int64_t>(nearest));
  }
  return rows;
}

}  // namespace

Trial try_row_order(ConstTensorView ours, ConstTensorView reference) {
  Trial trial{"order", "by the nearest row", "", std::nullopt, ""};
  const std::int64_t n = reference.size(0);
  if (n < 2 || n > kMostTextsOrdered) {
    trial.why_not = n < 2 ? "fewer than 2 texts" : joined("more than ", kMostTextsOrdered, " texts");
    return trial;
  }
  const std::vector<std::int64_t> rows = nearest_rows(ours, reference);
  Tensor reordered(DType::f64, reference.shape());
  std::int64_t moved = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    if (row != i && moved < 0) moved = i;
    copy(reference.slice(0, row, row + 1), reordered.view().slice(0, i, i + 1));
  }
  if (moved < 0) {
    trial.why_not = "same order";
    return trial;
  }
  trial.agreement = compare(ours, reordered);
  trial.explains = trial.agreement->agrees();
  const std::int64_t first = rows[static_cast<std::size_t>(moved)];
  trial.meaning =
      joined("the rows of the reference are in another order; text ", moved, " is its row ", first);
  return trial;
}

}  // namespace attend::doctor
