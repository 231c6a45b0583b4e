#include "train/pair_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace attend::train {
namespace {

constexpr const char* kPairLossOperation = "pair_loss";

void check_pairs(ConstTensorView first, ConstTensorView second) {
  if (first.rank() != 2 || second.rank() != 2 || first.size(1) != second.size(1)) {
    refuse(kPairLossOperation, "vectors of shapes ", to_string(first.shape()), " and ",
           to_string(second.shape()), " have no cosines");
  }
}

void check_equal(ConstTensorView first, ConstTensorView second, TensorView d_first, TensorView d_second) {
  check_pairs(first, second);
  if (first.size(0) != second.size(0)) {
    refuse(kPairLossOperation, first.size(0), " and ", second.size(0), " vectors do not make pairs");
  }
  if (d_first.given() != d_second.given())
    refuse(kPairLossOperation, "gradients are given for only one of the two sides");
}

// Rows divided by their lengths.
struct UnitRows {
  std::int64_t rows, width;
  std::vector<double> values;    // (rows, width)
  std::vector<double> inverses;  // 1 / length; 0 of a row of zeros

  explicit UnitRows(ConstTensorView x)
      : rows(x.size(0)), width(x.size(1)), inverses(static_cast<std::size_t>(rows)) {
    const Tensor wide = copy_of(x, DType::f64);
    values.assign(wide.values<double>().begin(), wide.values<double>().end());
    for (std::int64_t i = 0; i < rows; ++i) {
      double* const row = (*this)[i];
      double sum = 0;
      for (std::int64_t e = 0; e < width; ++e) sum += row[e] * row[e];
      const double inverse = sum > 0 ? 1 / std::sqrt(sum) : 0;
      inverses[static_cast<std::size_t>(i)] = inverse;
      for (std::int64_t e = 0; e < width; ++e) row[e] *= inverse;
    }
  }
  double* operator[](std::int64_t row) { return values.data() + row * width; }
  const double* operator[](std::int64_t row) const { return values.data() + row * width; }

  // From d, the gradient of the divided rows, to that of the rows: a change along a row does not turn it.
  void back(const std::vector<double>& d, TensorView d_x) const {
    Tensor wide(DType::f64, {rows, width});
    for (std::int64_t i = 0; i < rows; ++i) {
      const double* const u = (*this)[i];
      const double* const from = d.data() + i * width;
      double* const to = wide.values<double>().data() + i * width;
      double along = 0;
      for (std::int64_t e = 0; e < width; ++e) along += from[e] * u[e];
      for (std::int64_t e = 0; e < width; ++e) {
        to[e] = (from[e] - along * u[e]) * inverses[static_cast<std::size_t>(i)];
      }
    }
    copy(wide, d_x);
  }
};

double inner(const double* a, const double* b, std::int64_t width) {
  double sum = 0;
  for (std::int64_t e = 0; e < width; ++e) sum += a[e] * b[e];
  return sum;
}

void add(double factor, const double* from, std::int64_t width, double* to) {
  for (std::int64_t e = 0; e < width; ++e) to[e] += factor * from[e];
}

// -log softmax(scores)[own] over the places that count, weighed; adds weight * its gradient to `d`. Rows lie
// `step` apart from place to place.
double surprise(const double* scores, std::int64_t count, std::int64_t step, std::int64_t own,
                const Contrast& contrast, double weight, double* d) {
  const auto counts = [&](std::int64_t place) {
    return contrast.tells_apart(static_cast<std::size_t>(own), static_cast<std::size_t>(place));
  };
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    if (counts(j)) largest = std::max(largest, scores[j * step]);
  }
  for (std::int64_t j = 0; j < count; ++j) {
    if (counts(j)) sum += std::exp(scores[j * step] - largest);
  }
  for (std::int64_t j = 0; j < count; ++j) {
    if (counts(j)) d[j * step] += weight * (std::exp(scores[j * step] - largest) / sum - (j == own ? 1 : 0));
  }
  return largest + std::log(sum) - scores[own * step];
}

}  // namespace

Tensor cosines(ConstTensorView first, ConstTensorView second) {
  check_pairs(first, second);
  const UnitRows u(first), v(second);
  Tensor table(DType::f64, {u.rows, v.rows});
  double* to = table.values<double>().data();
  for (std::int64_t i = 0; i < u.rows; ++i) {
    for (std::int64_t j = 0; j < v.rows; ++j) *to++ = inner(u[i], v[j], u.width);
  }
  return table;
}

std::vector<double> pair_cosines(ConstTensorView first, ConstTensorView second) {
  check_equal(first, second, {}, {});
  const UnitRows u(first), v(second);
  std::vector<double> list;
  for (std::int64_t i = 0; i < u.rows; ++i) list.push_back(inner(u[i], v[i], u.width));
  return list;
}

double cosine_regression(ConstTensorView first, ConstTensorView second, std::span<const double> scores,
                         double weight, TensorView d_first, TensorView d_second) {
  check_equal(first, second, d_first, d_second);
  const UnitRows u(first), v(second);
  if (static_cast<std::int64_t>(scores.size()) != u.rows) {
    refuse(kPairLossOperation, "got ", scores.size(), " scores for ", u.rows, " pairs");
  }
  std::vector<double> d_u(u.values.size()), d_v(v.values.size());
  double loss = 0;
  for (std::int64_t i = 0; i < u.rows; ++i) {
    const double error = inner(u[i], v[i], u.width) - scores[static_cast<std::size_t>(i)];
    loss += error * error;
    add(2 * weight * error, v[i], u.width, d_u.data() + i * u.width);
    add(2 * weight * error, u[i], u.width, d_v.data() + i * u.width);
  }
  if (d_first.given()) {
    u.back(d_u, d_first);
    v.back(d_v, d_second);
  }
  return loss;
}

double contrastive(ConstTensorView first, ConstTensorView second, const Contrast& contrast, double weight,
                   TensorView d_first, TensorView d_second) {
  check_equal(first, second, d_first, d_second);
  for (const auto texts : {contrast.first_texts, contrast.second_texts}) {
    if (!texts.empty() && static_cast<std::int64_t>(texts.size()) != first.size(0)) {
      refuse(kPairLossOperation, "got ", texts.size(), " numbers of texts for ", first.size(0), " pairs");
    }
  }
  const UnitRows u(first), v(second);
  const std::int64_t n = u.rows;
  Tensor scores(DType::f64, {n, n}), d_scores(DType::f64, {n, n});
  double* const s = scores.values<double>().data();
  double* const d = d_scores.values<double>().data();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) s[i * n + j] = contrast.scale * inner(u[i], v[j], u.width);
  }
  double loss = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    loss += surprise(s + i * n, n, 1, i, contrast, weight / 2, d + i * n) / 2;
    loss += surprise(s + i, n, n, i, contrast, weight / 2, d + i) / 2;
  }
  if (!d_first.given()) return loss;
  std::vector<double> d_u(u.values.size()), d_v(v.values.size());
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double slope = contrast.scale * d[i * n + j];
      add(slope, v[j], u.width, d_u.data() + i * u.width);
      add(slope, u[i], u.width, d_v.data() + j * u.width);
    }
  }
  u.back(d_u, d_first);
  v.back(d_v, d_second);
  return loss;
}

}  // namespace attend::train
