#include "bench/gpu_measure.h"

#include <attend/stream.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "draw/number.h"

namespace attend::bench {
namespace {

// Long compared with a wait (some 10 µs), short enough for several rounds.
constexpr double kBatchSeconds = 5e-3;
constexpr int kMostInBatch = 500;

double seconds_between_waits(const std::function<void()>& run, Device device, int times) {
  return seconds_of([&] {
    for (int i = 0; i < times; ++i) run();
    synchronize(device);
  });
}

// Kernels are loaded by their first call, and the clock of the device rises with work.
int batch_of(const std::function<void()>& run, Device device) {
  seconds_between_waits(run, device, 2);
  const double one = seconds_between_waits(run, device, 3) / 3;
  const double count = std::ceil(kBatchSeconds / std::max(one, 1e-7));
  return static_cast<int>(std::clamp(count, 1.0, double{kMostInBatch}));
}

std::string digits(double value, int decimals) { return draw::format_number(value, {.decimals = decimals}); }

}  // namespace

void measure_on_gpu(std::span<const MeasuredCall> calls, Device device, const BenchSettings& settings) {
  std::vector<int> batches;
  for (const MeasuredCall& call : calls) batches.push_back(batch_of(call.run, device));
  const double enough = settings.quick ? 0.05 : 0.2;
  constexpr int kRounds = 7;
  std::vector<std::vector<double>> seconds(calls.size());
  double spent = 0;
  for (int round = 0; round < kRounds || spent < enough; ++round) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const double taken = seconds_between_waits(calls[i].run, device, batches[i]);
      seconds[i].push_back(taken / batches[i]);
      spent += taken;
    }
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Record& record = calls[i].record;
    record.device = to_string(device);
    record.rounds = static_cast<int>(seconds[i].size());
    record.seconds = spread_of(std::move(seconds[i]));
  }
}

double gpu_bound(DType dtype) { return dtype == DType::bf16 ? 4e-3 : dtype == DType::f16 ? 5e-4 : 1e-5; }

bool is_there(Report& report, const std::function<void()>& measure) {
  try {
    measure();
    return true;
  } catch (const std::invalid_argument& error) {
    const std::string why = error.what();
    if (why.find("] is not implemented on ") == why.npos) throw;
    const std::string note = "Left out: " + why + ".";
    if (std::find(report.notes.begin(), report.notes.end(), note) == report.notes.end())
      report.notes.push_back(note);
    return false;
  }
}

draw::Table gpu_table(std::string title, std::span<const Record> records) {
  const bool reads = !records.empty() && records.front().bytes > 0;
  draw::Table table{.title = std::move(title),
                    .label_header = "case",
                    .columns = {{"time"}, {reads ? "TB/s" : "TFLOP/s"}, {"quartiles"}, {"error"}},
                    .rows = {}};
  for (const Record& record : records) {
    table.rows.push_back(
        {.label = record.name,
         .cells = {format_seconds(record.seconds.median),
                   reads ? digits(record.bytes_rate() / 1e12, 2) : digits(record.flops_rate() / 1e12, 1),
                   format_seconds(record.seconds.low) + "–" + format_seconds(record.seconds.high),
                   draw::format_short(record.error)}});
  }
  return table;
}

}  // namespace attend::bench
