// attend bench precision: the same products and the same attention in each precision, in turns, and how far
// each is from float64.
#include <attend/attention.h>
#include <attend/isa.h>
#include <attend/matmul.h>
#include <attend/reference.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

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
double relative_error(ConstTensorView out, const std::function<void(std::int64_t row, TensorView)>& expect) {
  constexpr std::int64_t kRows = 8;
  const std::int64_t rows = out.size(0), columns = out.size(1);
  Tensor expected(DType::f64, {1, columns});
  double difference = 0, length = 0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::int64_t row = i * (rows - 1) / (kRows - 1);
    expect(row, expected);
    const Tensor got = copy_of(out.slice(0, row, row + 1), DType::f64);
    for (std::int64_t c = 0; c < columns; ++c) {
      const double wanted = expected.values<double>()[static_cast<std::size_t>(c)];
      const double off = got.values<double>()[static_cast<std::size_t>(c)] - wanted;
      difference += off * off;
      length += wanted * wanted;
    }
  }
  return std::sqrt(difference / length);
}

void require_small(const Record& record, Precision precision) {
  if (!(record.error <= bound_of(precision)))
    throw WrongAnswer(record.name + ": the relative error is " + draw::format_short(record.error) +
                      ", expected at most " + draw::format_short(bound_of(precision)));
}

// What one case is in each precision: how it is described, run and judged.
struct Variant {
  Precision precision;
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
    variant.run();
    record.error = variant.error();
    require_small(record, variant.precision);
    records.push_back(std::move(record));
  }
  std::vector<MeasuredCall> calls;
  for (std::size_t i = 0; i < variants.size(); ++i) calls.push_back({records[i], variants[i].run});
  measure(calls, settings);
  for (Record& record : records)
    record.more = {{"time_of_f32_over_time", records.front().seconds.median / record.seconds.median}};
  return records;
}

std::vector<Record> product_in_each(const ProductCase& one, const BenchSettings& settings) {
  const auto [m, n, k] = one.size;
  Record record;
  record.bench = "precision";
  record.name = to_string(one);
  record.shape = {1, 1, 1, m, n, k};
  record.product = one.size;
  record.flops = 2 * static_cast<double>(m * n) * static_cast<double>(k);

  const Tensor a = random_tensor(DType::f32, {m, k}, 1), w = random_tensor(DType::f32, {k, n}, 2);
  Tensor out(DType::f32, {m, n});
  const auto expect = [&](std::int64_t row, TensorView expected) {
    reference::matmul(a.view().slice(0, row, row + 1), w, expected, {});
  };
  std::vector<Variant> variants;
  for (const Precision precision : kPrecisions) {
    const auto packed = std::make_shared<const PackedMatrix>(w, packed_as(precision));
    variants.push_back(
        {precision, [&, packed] { matmul(a, *packed, out); }, [&] { return relative_error(out, expect); }});
  }
  return measure_variants(record, variants, settings);
}

// On tensors of each type, into an output of that type.
std::vector<Record> attention_in_each(const AttentionCase& one, const BenchSettings& settings) {
  Record record = attention_record(one);
  record.bench = "precision";
  const Inputs exact = random_inputs(one.shape, DType::f32);
  AttentionOptions options;
  options.causal = one.causal;
  std::vector<Variant> variants;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto in = std::make_shared<const Inputs>(random_inputs(one.shape, dtype));
    const auto out = std::make_shared<Tensor>(dtype, exact.q.shape());
    variants.push_back({dtype == DType::f32 ? Precision::f32 : Precision::bf16,
                        [&, in, out] { attention(in->q, in->k, in->v, options, *out); },
                        [&, out] { return relative_error(exact, options, *out); }});
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
  for (const ProductCase& one : product_cases(settings.quick)) {
    if (one.gelu) continue;
    settings.progress("precision " + to_string(one));
    for (Record& record : product_in_each(one, settings)) report.records.push_back(std::move(record));
  }
  report.tables = {table_of("m x n x k: (m, k) times packed weights (k, n)", report.records, 3)};
  const std::size_t products = report.records.size();
  for (const AttentionCase& one : precision_cases(settings.quick)) {
    settings.progress("precision " + to_string(one));
    for (Record& record : attention_in_each(one, settings)) report.records.push_back(std::move(record));
  }
  report.tables.push_back(
      table_of("Attention: B, heads, tokens, head size", std::span(report.records).subspan(products), 2));
  report.notes = {"int8 by " + isa(Precision::int8) + ", bf16 by " + isa(Precision::bf16) + ", f32 by " +
                  isa() + ". The error is that of the result's length, against float64."};
  return report;
}

}  // namespace attend::bench
