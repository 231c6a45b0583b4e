// attend bench precision: the same products and the same attention in each precision, in turns, and how far
// each is from float64.
#include <attend/attention.h>
#include <attend/isa.h>
#include <attend/matmul.h>
#include <attend/reference.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/check.h"
#include "bench/measure.h"
#include "draw/number.h"

namespace attend::bench {
namespace {

constexpr Precision kPrecisions[] = {Precision::f32, Precision::bf16, Precision::int8};

// Numbers around 1 times numbers around 1, of which some k are added: what rounding both to the precision may
// do at most, as a part of the result's length. Wrong answers are off by much more.
double bound_of(Precision precision) {
  switch (precision) {
    case Precision::f32:
      return 1e-5;
    case Precision::bf16:
      return 1e-2;
    case Precision::int8:
      return 5e-2;
  }
  return 0;
}

// |out - expected| / |expected|, of rows that are spread over out.
double relative_error(const ProductCase& one, Precision precision, const Tensor& a, const Tensor& w,
                      const Tensor& out) {
  constexpr std::int64_t kRows = 8;
  Tensor expected(DType::f64, {1, one.size.n});
  double difference = 0, length = 0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::int64_t row = i * (one.size.m - 1) / (kRows - 1);
    reference::matmul(a.view().slice(0, row, row + 1), w, expected, {});
    const Tensor got = copy_of(out.view().slice(0, row, row + 1), DType::f64);
    for (std::size_t c = 0; c < expected.values<double>().size(); ++c) {
      const double wanted = expected.values<double>()[c], off = got.values<double>()[c] - wanted;
      difference += off * off;
      length += wanted * wanted;
    }
  }
  const double error = std::sqrt(difference / length);
  if (!(error <= bound_of(precision)))
    throw WrongAnswer(to_string(one) + ": the relative error in " + std::string(name_of(precision)) + " is " +
                      draw::format_short(error) + ", expected at most " +
                      draw::format_short(bound_of(precision)));
  return error;
}

// What one case is in each precision: how it is described, run and judged.
struct Variant {
  Precision precision;
  DType dtype;  // of the tensors
  std::function<void()> run;
  std::function<double()> error;  // of what run() left
};

// Records of one case, f32 first, measured in turns.
std::vector<Record> measure_variants(const Record& described, std::span<const Variant> variants,
                                     const BenchSettings& settings) {
  std::vector<Record> records;
  for (const Variant& variant : variants) {
    Record record = described;
    record.name += " " + std::string(name_of(variant.precision));
    record.dtype = variant.dtype;
    variant.run();
    record.error = variant.error();
    records.push_back(std::move(record));
  }
  std::vector<MeasuredCall> calls;
  for (std::size_t i = 0; i < variants.size(); ++i) calls.push_back({records[i], variants[i].run});
  measure(calls, settings);
  for (Record& record : records)
    record.more = {{"speed_over_f32", records.front().seconds.median / record.seconds.median}};
  return records;
}

std::vector<Record> measure_products(const ProductCase& one, const BenchSettings& settings) {
  const auto [m, n, k] = one.size;
  Record record;
  record.bench = "precision";
  record.name = to_string(one);
  record.shape = {1, 1, 1, m, n, k};
  record.product = one.size;
  record.flops = 2 * static_cast<double>(m * n) * static_cast<double>(k);

  const Tensor a = random_tensor(DType::f32, {m, k}, 1), w = random_tensor(DType::f32, {k, n}, 2);
  Tensor out(DType::f32, {m, n});
  std::vector<Variant> variants;
  for (const Precision precision : kPrecisions) {
    const auto packed = std::make_shared<const PackedMatrix>(w, packed_as(precision));
    variants.push_back({precision, DType::f32, [&, packed] { matmul(a, *packed, out); },
                        [&, precision] { return relative_error(one, precision, a, w, out); }});
  }
  return measure_variants(record, variants, settings);
}

// Tensors of one type; the output has it, too.
struct TypedCall {
  TypedCall(const AttentionCase& one, DType dtype)
      : inputs(random_inputs(one.shape, dtype)), out(dtype, inputs.q.shape()) {
    options.causal = one.causal;
  }
  void run() { attention(inputs.q, inputs.k, inputs.v, options, out); }
  double error(const std::string& what) const {
    Tensor exact(DType::f32, inputs.q.shape());
    attention(inputs.q, inputs.k, inputs.v, options, exact);
    return check_output(what, inputs, options, exact, output_bound(inputs, options));
  }
  Inputs inputs;
  AttentionOptions options;
  Tensor out;
};

std::vector<Record> measure_attention(const AttentionCase& one, const BenchSettings& settings) {
  Record record = attention_record(one);
  record.bench = "precision";
  std::vector<Variant> variants;
  for (const auto& [precision, dtype] :
       {std::pair(Precision::f32, DType::f32), std::pair(Precision::bf16, DType::bf16)}) {
    const auto call = std::make_shared<TypedCall>(one, dtype);
    variants.push_back(
        {precision, dtype, [call] { call->run(); }, [call, &one] { return call->error(to_string(one)); }});
  }
  return measure_variants(record, variants, settings);
}

// Each case a row: the time in f32, then for every other precision how many times as fast, and its error.
draw::Table table_of(std::string title, std::span<const Record> records, std::size_t precisions) {
  draw::Table table{
      .title = std::move(title), .label_header = "case", .columns = {{"f32"}, {"error"}}, .rows = {}};
  for (std::size_t i = 1; i < precisions; ++i) {
    table.columns.push_back({std::string(name_of(kPrecisions[i])) + " faster by"});
    table.columns.push_back({"error"});
  }
  const auto error = [](const Record& record) { return draw::format_short(record.error, 2); };
  for (std::size_t first = 0; first < records.size(); first += precisions) {
    const Record& exact = records[first];
    draw::TableRow row{.label = exact.name.substr(0, exact.name.rfind(' ')),
                       .cells = {format_seconds(exact.seconds.median), error(exact)}};
    for (std::size_t i = 1; i < precisions; ++i) {
      const Record& record = records[first + i];
      row.cells.push_back(draw::format_number(record.more.front().second, {.decimals = 2}));
      row.cells.push_back(error(record));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Report bench_precision(const BenchSettings& settings) {
  Report report;
  report.title = "Precision";
  const auto add = [&](std::vector<Record> records) {
    std::move(records.begin(), records.end(), std::back_inserter(report.records));
  };
  for (const ProductCase& one : product_cases(settings.quick)) {
    if (one.gelu) continue;
    settings.progress("precision " + to_string(one));
    add(measure_products(one, settings));
  }
  const std::size_t products = report.records.size();
  for (const AttentionCase& one : precision_cases(settings.quick)) {
    settings.progress("precision " + to_string(one));
    add(measure_attention(one, settings));
  }
  const std::span<const Record> all = report.records;
  report.tables = {table_of("m x n x k: (m, k) times packed weights (k, n)", all.first(products), 3),
                   table_of("Attention, B, heads, tokens, head size", all.subspan(products), 2)};
  report.notes = {
      "f32 by " + isa() + ", bf16 by " + isa(Precision::bf16) + ", int8 by " + isa(Precision::int8) +
      ". The error is against float64: of products as a part of the result's length, of attention the "
      "largest."};
  return report;
}

}  // namespace attend::bench
