#include "bench/measure.h"

#include <attend/threads.h>

#include <cstddef>

namespace attend::bench {
namespace {

std::vector<double> rates(double amount, const std::vector<double>& seconds) {
  std::vector<double> result;
  for (const double taken : seconds) result.push_back(amount / taken);
  return result;
}

// Each measurement relative to the peak measured just before it.
Spread shares(double amount, const std::vector<double>& seconds, const std::vector<double>& peaks) {
  std::vector<double> result = rates(amount, seconds);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] /= peaks[i];
  return spread_of(result);
}

// The multiply-add peak over about 50 ms.
double peak_now() {
  std::vector<double> rates;
  for (int i = 0; i < 25; ++i) {
    double flops = 0;
    const double seconds = seconds_of([&] { flops = run_multiply_adds(); });
    rates.push_back(flops / seconds);
  }
  return spread_of(rates).median;
}

}  // namespace

void measure(std::span<const MeasuredCall> calls, const BenchSettings& settings, MemoryReader* reader) {
  const double peak_flops = run_multiply_adds();
  std::vector<std::function<void()>> runs;
  if (reader != nullptr) runs.push_back([&] { reader->run(); });
  runs.push_back([] { run_multiply_adds(); });
  const std::size_t first = runs.size();
  for (const MeasuredCall& call : calls) runs.push_back(call.run);
  const std::vector<std::vector<double>> seconds = take_turns(runs, settings.effort());

  const std::vector<double> flop_peaks = rates(peak_flops, seconds[first - 1]);
  const std::vector<double> byte_peaks =
      reader == nullptr ? std::vector<double>() : rates(reader->bytes(), seconds.front());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Record& record = calls[i].record;
    const std::vector<double>& taken = seconds[first + i];
    record.threads = threads();
    record.rounds = static_cast<int>(taken.size());
    record.seconds = spread_of(taken);
    record.peak_flops = spread_of(flop_peaks).median;
    if (record.bytes > 0) {
      record.peak_bytes = spread_of(byte_peaks).median;
      record.share = shares(record.bytes, taken, byte_peaks);
    } else {
      record.share = shares(record.flops, taken, flop_peaks);
    }
  }
}

void measure_once(Record& record, const std::function<void()>& run) {
  const double before = peak_now();
  const double seconds = seconds_of(run);
  record.threads = threads();
  record.rounds = 1;
  record.seconds = {seconds, seconds, seconds};
  record.peak_flops = (before + peak_now()) / 2;
  const double share = record.share_of_peak();
  record.share = {share, share, share};
}

}  // namespace attend::bench
