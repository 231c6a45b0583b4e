// attend bench matmul.
#include <attend/matmul.h>
#include <attend/reference.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/check.h"
#include "bench/measure.h"

namespace attend::bench {
namespace {

struct Operands {
  Tensor a, w, bias;  // (m, k), (k, n), (n)
};

MatmulEpilogue epilogue_of(const ProductCase& one, const Tensor& bias) {
  MatmulEpilogue epilogue;
  if (one.gelu) {
    epilogue.bias = bias;
    epilogue.activation = Activation::gelu;
  }
  return epilogue;
}

// Up to eight rows, including the first and the last, against the same product in float64. A sum of k
// products of numbers around 1 is around sqrt(k), and its rounding error grows with it.
double check_product(const ProductCase& one, const Operands& operands, ConstTensorView out) {
  constexpr std::int64_t kRows = 8;
  const double bound = 1e-5 * std::sqrt(static_cast<double>(one.size.k));
  double error = 0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::int64_t row = i * (one.size.m - 1) / (kRows - 1);
    Tensor expected(DType::f64, {1, one.size.n});
    reference::matmul(operands.a.view().slice(0, row, row + 1), operands.w, expected,
                      epilogue_of(one, operands.bias));
    error = std::max(error, require_close(to_string(one), out.slice(0, row, row + 1), expected, bound));
  }
  return error;
}

}  // namespace

Record measure_product(const ProductCase& one, const BenchSettings& settings) {
  const auto [m, n, k] = one.size;
  Record record;
  record.bench = "matmul";
  record.name = to_string(one);
  record.shape = {1, 1, 1, m, n, k};
  record.product = one.size;
  record.flops = 2 * static_cast<double>(m * n) * static_cast<double>(k);

  const Operands operands = {random_tensor(DType::f32, {m, k}, 1), random_tensor(DType::f32, {k, n}, 2),
                             random_tensor(DType::f32, {n}, 3)};
  const PackedMatrix packed(operands.w);
  const MatmulEpilogue epilogue = epilogue_of(one, operands.bias);
  Tensor out(DType::f32, {m, n});
  const auto run = [&] { matmul(operands.a, packed, out, epilogue); };
  run();
  record.error = check_product(one, operands, out);
  measure(std::array{MeasuredCall{record, run}}, settings);
  return record;
}

Report bench_matmul(const BenchSettings& settings) {
  Report report;
  report.title = "Matrix product";
  for (const ProductCase& one : product_cases(settings.quick)) {
    settings.progress("matmul " + to_string(one));
    report.records.push_back(measure_product(one, settings));
  }
  report.tables = {speed_table("m x n x k: (m, k) times packed weights (k, n), f32", report.records)};
  return report;
}

}  // namespace attend::bench
