// attend bench length: what O(n^2) means, measured. Time grows with n^2 either way; memory need not.
#include <attend/attention.h>

#include <array>
#include <cmath>

#include "bench/bench.h"
#include "bench/check.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/naive.h"
#include "draw/number.h"

namespace attend::bench {
namespace {

constexpr std::int64_t kHeadSize = 64, kShortest = 128, kLongest = 131072, kLongestQuick = 4096;
constexpr double kSharedOut = 2.0 / 3;  // of the available memory; the rest is for other processes
constexpr double kOnce = 2;             // seconds: what takes longer is measured once

struct Length {
  std::int64_t n = 0;
  Record fused;
  std::optional<Record> naive;  // where its matrix fits
};

Record record_of(const char* kind, std::int64_t n) {
  Record record;
  record.bench = "length";
  record.name = std::string(kind) + " n=" + std::to_string(n);
  record.shape = {1, 1, 1, n, n, kHeadSize};
  record.flops = attention_flops(record.shape, Direction::forward, false);
  return record;
}

// Measures memory first, in a call that also shows whether more calls are affordable. What `prepare`
// allocates counts as memory, but not as time.
void measure_length(Record& record, const Inputs& inputs, Tensor& out, const BenchSettings& settings,
                    const std::function<void()>& prepare, const std::function<void()>& run) {
  const double memory = memory_growth([&] {
    prepare();
    measure_once(record, run);
  });
  record.error = check_output(record.name, inputs, {}, out);
  if (record.seconds.median < kOnce) measure(std::array{MeasuredCall{record, run}}, settings);
  record.more = {{"memory_bytes", memory}, {"matrix_bytes", matrix_bytes(record.shape.lk)}};
}

Length measure_both(std::int64_t n, double available, const BenchSettings& settings) {
  Length length{.n = n, .fused = record_of("fused", n), .naive = {}};
  const Inputs inputs = random_inputs(length.fused.shape, DType::f32);
  Tensor out(DType::f32, inputs.q.shape());
  settings.progress("length " + length.fused.name);
  measure_length(
      length.fused, inputs, out, settings, [] {}, [&] { attention(inputs.q, inputs.k, inputs.v, {}, out); });
  if (matrix_bytes(n) > kSharedOut * available) return length;

  length.naive = record_of("naive", n);
  settings.progress("length " + length.naive->name);
  const auto matrix = [](auto view) { return view.select(0, 0).select(0, 0); };
  const ConstTensorView q = matrix(inputs.q.view()), k = matrix(inputs.k.view()), v = matrix(inputs.v.view());
  Tensor scores;
  measure_length(
      *length.naive, inputs, out, settings,
      [&] {
        scores = Tensor(DType::f32, {n, n});
      },
      [&] { naive_attention(q, k, v, scores, matrix(out.view())); });
  return length;
}

std::string memory_of(const Record& record) { return format_bytes(record.more.front().second); }

draw::Table length_table(const std::vector<Length>& lengths, double available) {
  draw::Table table{
      .title = "One head of 64, full attention; memory besides q, k, v and the output",
      .label_header = "n",
      .columns = {{"fused"}, {"memory"}, {"n x n matrix"}, {"naive"}, {"memory"}, {"naive / fused"}},
      .rows = {}};
  for (const Length& length : lengths) {
    const double matrix = matrix_bytes(length.n);
    draw::TableRow row{.label = std::to_string(length.n),
                       .cells = {format_seconds(length.fused.seconds.median), memory_of(length.fused),
                                 format_bytes(matrix)}};
    if (length.naive) {
      const double ratio = length.naive->seconds.median / length.fused.seconds.median;
      row.cells.insert(row.cells.end(),
                       {format_seconds(length.naive->seconds.median), memory_of(*length.naive),
                        draw::format_number(ratio, {.decimals = 2})});
    } else {
      row.cells.push_back(matrix > available ? "does not fit" : "not tried");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

draw::Plot length_plot(const std::vector<Length>& lengths) {
  draw::Series fused{.name = "fused", .x = {}, .y = {}}, naive{.name = "naive", .x = {}, .y = {}};
  for (const Length& length : lengths) {
    fused.x.push_back(static_cast<double>(length.n));
    fused.y.push_back(length.fused.seconds.median);
    if (!length.naive) continue;
    naive.x.push_back(static_cast<double>(length.n));
    naive.y.push_back(length.naive->seconds.median);
  }
  return {.title = "Seconds by length",
          .x = {.label = "n", .scale = draw::AxisScale::log2},
          .y = {.label = "s", .scale = draw::AxisScale::log10},
          .series = {std::move(fused), std::move(naive)}};
}

std::string memory_limit_note(double available) {
  const double longest = std::floor(std::sqrt(available / sizeof(float)));
  return "Both take time that grows with n². The naive one also stores the n x n matrix: with " +
         format_bytes(available) + " of memory available, a single head is limited to n = " +
         std::to_string(static_cast<std::int64_t>(longest)) + "; at n = " + std::to_string(kLongest) +
         " it would take " + format_bytes(matrix_bytes(kLongest)) +
         ". It is not tried where it would take more than two thirds of what is available. It uses the same "
         "packed products on the same threads as the rest of the library.";
}

}  // namespace

Report bench_length(const BenchSettings& settings) {
  const double available = available_memory();
  run_multiply_adds();  // starts the threads, whose stacks must not be measured
  std::vector<Length> lengths;
  for (std::int64_t n = kShortest; n <= (settings.quick ? kLongestQuick : kLongest); n *= 2) {
    lengths.push_back(measure_both(n, available, settings));
  }
  Report report;
  report.title = "Length";
  for (const Length& length : lengths) {
    report.records.push_back(length.fused);
    if (length.naive) report.records.push_back(*length.naive);
  }
  report.tables = {length_table(lengths, available)};
  report.plot = length_plot(lengths);
  report.notes = {memory_limit_note(available)};
  return report;
}

}  // namespace attend::bench
